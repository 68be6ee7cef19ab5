/* Loads modules and libraries from images that the client names by their hash. */
#include <errno.h>
#include <stdlib.h>
#include "abi/fatbin.h"
#include "image/image.h"
#include "server/code/code.h"

/*
 * A wrapper around the parts of a linked program, as the driver expects it.  Lives as long as the session, like the
 * parts.
 */
static const void *parts_wrap(const void *const *parts, unsigned count)
{
	struct fatbin_wrapper *w = malloc(sizeof *w + count * sizeof(void *));
	const void **more = (const void **)(w + 1);

	if (!w)
		return NULL;
	for (unsigned i = 1; i < count; i++)
		more[i - 1] = parts[i];
	more[count - 1] = NULL;
	*w = (struct fatbin_wrapper){FATBIN_WRAPPER_MAGIC, FATBIN_WRAPPER_LINKED, parts[0], more};
	return w;
}

/* A small image of one part comes with the call itself. */
static void inline_image_add(struct msg *m, const struct wire_image *names, unsigned count)
{
	size_t room;
	const uint8_t *base = bulk_base(m->session->link, BULK_UP, &room);

	if (count != 1 || m->frame.npieces != 1 || m->frame.pieces[0].size != names[0].size) {
		m->broken = true;
		return;
	}
	int err = images_add(m->session, names, base + m->frame.pieces[0].offset);
	if (err)
		m->error = err == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_IMAGE;
}

/* The number of missing parts. */
static unsigned parts_find(struct msg *m, const struct wire_image *names, unsigned count, const void **parts)
{
	unsigned missing = 0;

	for (unsigned i = 0; i < count; i++) {
		parts[i] = images_find(m->session, &names[i]);
		missing += !parts[i];
		/* the driver trusts the sizes in headers, and follows the pointers of a wrapper */
		if (parts[i] && !image_within(parts[i], names[i].size))
			m->error = CUDA_ERROR_INVALID_IMAGE;
	}
	return missing;
}

static CUresult image_load(const struct cuda_ops *ops, struct msg *m, const void *image, uint32_t library,
	struct jit_options *j, uint64_t *id)
{
	CUlibraryOption preserved = CU_LIBRARY_BINARY_IS_PRESERVED;
	void *yes = (void *)1, *loaded = NULL;
	CUresult r;

	if (!image)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (library)
		r = ops->cuLibraryLoadData((CUlibrary *)&loaded, image, j->option, j->value, j->count, &preserved, &yes,
			library == WIRE_LAZY_LIBRARY);
	else if (j->count)
		r = ops->cuModuleLoadDataEx((CUmodule *)&loaded, image, j->count, j->option, j->value);
	else
		r = ops->cuModuleLoadData((CUmodule *)&loaded, image);
	if (!r)
		*id = handles_give(m->session->handles, library ? HANDLE_CUlibrary : HANDLE_CUmodule, loaded);
	return r;
}

void serve_load(const struct cuda_ops *ops, struct msg *m)
{
	const void *parts[WIRE_IMAGE_PARTS];
	struct wire_load a;
	struct jit_options j;

	msg_args(m, &a, sizeof a);
	if (a.library)
		m->error = CUDA_SUCCESS; /* libraries need no context */
	if (!a.parts || a.parts > WIRE_IMAGE_PARTS)
		m->broken = true;
	const struct wire_image *names = msg_in(m, true, wire_bytes(a.parts, sizeof *names));
	if (!jit_options_init(m, &j, a.options)) {
		msg_bad(m);
		return;
	}
	uint8_t *out = msg_out(m, true, sizeof(struct wire_loaded) + jit_options_reply_size(&j));
	if (m->frame.npieces && !m->broken)
		inline_image_add(m, names, a.parts);
	if (!out || msg_bad(m)) {
		jit_options_finish(&j);
		return;
	}
	struct wire_loaded done = {.missing = parts_find(m, names, a.parts, parts)};
	if (m->error)
		done.result = m->error;
	else if (!done.missing)
		done.result = image_load(
			ops, m, a.parts > 1 ? parts_wrap(parts, a.parts) : parts[0], a.library, &j, &done.id);
	m->session->output.kinds |= a.prints * !done.result;
	uint8_t *end = jit_options_reply(&j, out + sizeof done, &done.info, &done.error);
	memcpy(out, &done, sizeof done);
	m->out_used = wire_pad(end - m->out);
	jit_options_finish(&j);
}
