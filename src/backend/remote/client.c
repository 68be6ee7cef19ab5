/* Creates and destroys a client: the link and the state of every room. */
#include "backend/remote/client.h"
#include <stdlib.h>
#include "backend/remote/session/call.h"
#include "backend/remote/session/state.h"

struct client *client_create(struct link *link)
{
	struct client *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->session = session_state_create();
	if (!c->session) {
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
	session_state_destroy(c->session);
	free(c->devices);
	free(c);
}
