/*
 * A client that has lost an earlier worker, in this one: its handles get other numbers than those of the earlier worker,
 * and handles that outlive a reset stand for the new objects.  The client may alias only handles of its own.
 */
#include "server/session/message.h"
#include "util/handle.h"

void serve_renew(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_renew a;

	(void)ops;
	m->error = CUDA_SUCCESS; /* needs no context */
	msg_args(m, &a, sizeof a);
	if (!msg_bad(m) && (a.generation >= 1u << 24 || !handles_begin(m->session->handles, a.generation)))
		msg_result(m, CUDA_ERROR_INVALID_VALUE);
}

void serve_alias(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_alias a;

	(void)ops;
	m->error = CUDA_SUCCESS;
	msg_args(m, &a, sizeof a);
	if (msg_bad(m))
		return;
	enum handle_kind kind = handle_kind(a.former);
	if ((kind != HANDLE_CUcontext && kind != HANDLE_CUkernel) ||
		!handles_alias(m->session->handles, kind, a.former, a.now))
		msg_result(m, CUDA_ERROR_INVALID_HANDLE);
}
