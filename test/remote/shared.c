/*
 * A worker's words and arenas stay registered with the driver, whatever contexts the client resets or destroys.  Without
 * the registration the device could not write the client's words, and every copy would take the slow path.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "test/check.h"
#include "server/session/message.h"
#include "test/null_device.h"

static struct session session;
static struct stats stats;

/* The client end of the link; it stays connected and sends nothing. */
static void *client(void *address)
{
	struct link_config config = link_defaults(false);
	struct link *l;

	config.up_size = config.down_size = 1 << 20;
	if (link_connect(&l, address, &config, NULL))
		abort();
	return l;
}

static void connect_session(void)
{
	struct link_config config = link_defaults(true);
	char folder[] = "/tmp/gangway-shared-XXXXXX", address[64], error[LINK_ERROR_TEXT];
	pthread_t thread;
	int listener;

	if (!mkdtemp(folder))
		abort();
	snprintf(address, sizeof address, "unix:%s/socket", folder);
	listener = link_listen(address, 0, error);
	if (listener < 0)
		abort();
	pthread_create(&thread, NULL, client, address);
	if (link_serve(&session.link, link_accept(listener), &config, error))
		abort();
	pthread_join(thread, NULL);
	close(listener);
	unlink(address + 5);
	rmdir(folder);
}

static CUcontext primary(void)
{
	CUcontext context = NULL;

	OK(session.ops->cuDevicePrimaryCtxRetain(&context, 0));
	OK(session.ops->cuCtxSetCurrent(context));
	return context;
}

/* Does what the dispatcher does before a call in this context. */
static void enter(CUcontext context, bool works)
{
	if (context)
		OK(session.ops->cuCtxSetCurrent(context));
	session.context = context;
	registration_renew(&session, works);
}

static bool registered(void *p)
{
	CUdeviceptr seen = 0;

	return !session.ops->cuMemHostGetDevicePointer_v2(&seen, p, 0) && seen;
}

static void reaches_everything(void)
{
	uint32_t *word;
	size_t size;

	CHECK(session.shared.words != 0);
	CHECK(registered(bulk_base(session.link, BULK_UP, &size)));
	CHECK(registered((char *)bulk_base(session.link, BULK_DOWN, &size) + size - 1));
	for (uint32_t value = 1; value < 3; value++) {
		word = word_address(session.link, 20);
		OK(session.ops->cuStreamWriteValue32_v2(NULL, session.shared.words + 20 * WORD_STRIDE, value, 0));
		OK(session.ops->cuCtxSynchronize());
		CHECK_EQ(*word, value);
	}
}

int main(void)
{
	CUcontext context, other = NULL;

	null_session_init(&session, &stats);
	connect_session();
	context = primary();
	registration_start(&session);
	enter(context, true);
	reaches_everything();
	for (int i = 0; i < 3; i++) { /* repeated resets */
		OK(session.ops->cuDevicePrimaryCtxReset_v2(0));
		enter(context, true); /* a thread that still uses the old context */
		CHECK_EQ(session.shared.words, 0);
		enter(NULL, true);
		CHECK_EQ(session.shared.words, 0);
		enter(primary(), false);
		CHECK_EQ(session.shared.words, 0);
		enter(context, true);
		reaches_everything();
	}
	OK(session.ops->cuCtxCreate_v2(&other, 0, 0)); /* the registration moves to the second context */
	enter(other, true);
	reaches_everything();
	OK(session.ops->cuDevicePrimaryCtxRelease_v2(0));
	enter(other, true);
	reaches_everything();
	enter(primary(), true); /* a reset of another context keeps the registration */
	OK(session.ops->cuDevicePrimaryCtxReset_v2(0));
	enter(other, true);
	reaches_everything();
	enter(primary(), true);
	reaches_everything();
	OK(session.ops->cuCtxDestroy_v2(other));
	enter(context, true);
	reaches_everything();
	return failures ? 1 : 0;
}
