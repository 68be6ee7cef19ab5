/* Creates and destroys a client: the link and the state of every room. */
#include "backend/remote/client.h"
#include <stdlib.h>
#include "backend/remote/code/state.h"
#include "backend/remote/copy/state.h"
#include "backend/remote/graph/state.h"
#include "backend/remote/memory/state.h"
#include "backend/remote/session/call.h"
#include "backend/remote/session/state.h"
#include "backend/remote/wait/state.h"

struct client *client_create(struct link *link)
{
	struct client *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->session = session_state_create();
	c->wait = wait_state_create();
	c->copy = copy_state_create();
	c->graph = graph_state_create();
	c->memory = memory_state_create();
	c->code = code_state_create();
	if (!c->session || !c->wait || !c->copy || !c->graph || !c->memory || !c->code) {
		client_destroy(c);
		return NULL;
	}
	call_attach(c, link);
	return c;
}

void client_destroy(struct client *c)
{
	if (!c)
		return;
	call_detach(c);
	graph_state_destroy(c->graph);
	copy_state_destroy(c->copy);
	wait_state_destroy(c->wait);
	code_state_destroy(c->code);
	memory_state_destroy(c->memory);
	session_state_destroy(c->session);
	free(c->devices);
	free(c->address);
	free(c);
}
