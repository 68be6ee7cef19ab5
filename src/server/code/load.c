/* Loads modules and libraries from images that the client names by their hash. */
#include "image/image.h"
#include "server/code/code.h"

/* A small image of one part comes with the call itself. */
static void inline_image_add(struct msg *m, const struct wire_image *names, unsigned count)
{
	size_t room;
	const uint8_t *base = bulk_base(m->session->link, BULK_UP, &room);

	if (count != 1 || m->frame.npieces != 1 || m->frame.pieces[0].size != names[0].size) {
		m->broken = true;
		return;
	}
	if (!m->error)
		m->error = images_add(m->session, names, base + m->frame.pieces[0].offset);
}

/* Takes a use of each part.  The number of missing parts. */
static unsigned parts_use(struct msg *m, const struct wire_image *names, unsigned count, struct session_image **parts)
{
	unsigned missing = 0;

	for (unsigned i = 0; i < count; i++) {
		parts[i] = images_use(m->session, &names[i]);
		missing += !parts[i];
		/* the driver trusts the sizes in headers, and follows the pointers of a wrapper */
		if (parts[i] && !image_within(image_bytes(parts[i]), names[i].size))
			m->error = CUDA_ERROR_INVALID_IMAGE;
	}
	return missing;
}

static void parts_release(struct msg *m, struct session_image **parts, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (parts[i])
			images_release(m->session, parts[i]);
}

static CUresult driver_load(
	const struct cuda_ops *ops, const void *image, uint32_t library, struct jit_options *j, void **loaded)
{
	CUlibraryOption preserved = CU_LIBRARY_BINARY_IS_PRESERVED;
	void *yes = (void *)1;

	if (library)
		return ops->cuLibraryLoadData((CUlibrary *)loaded, image, j->option, j->value, j->count, &preserved,
			&yes, library == WIRE_LAZY_LIBRARY);
	if (j->count)
		return ops->cuModuleLoadDataEx((CUmodule *)loaded, image, j->count, j->option, j->value);
	return ops->cuModuleLoadData((CUmodule *)loaded, image);
}

static CUresult driver_unload(const struct cuda_ops *ops, uint32_t library, void *loaded)
{
	return library ? ops->cuLibraryUnload(loaded) : ops->cuModuleUnload(loaded);
}

/* Takes over the uses of the parts. */
static CUresult parts_load(const struct cuda_ops *ops, struct msg *m, struct session_image **parts, unsigned count,
	uint32_t library, struct jit_options *j, uint64_t *id)
{
	struct loaded_code *l = loaded_create(parts, count);
	void *loaded = NULL;
	CUresult r;

	if (!l) {
		parts_release(m, parts, count);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	r = driver_load(ops, loaded_image(l), library, j, &loaded);
	if (r) {
		loaded_destroy(m->session, l);
		return r;
	}
	loaded_add(m->session, l, loaded, library ? NULL : m->session->context);
	*id = handles_give(m->session->handles, library ? HANDLE_CUlibrary : HANDLE_CUmodule, loaded);
	if (*id)
		return CUDA_SUCCESS;
	driver_unload(ops, library, loaded);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

void serve_load(const struct cuda_ops *ops, struct msg *m)
{
	struct session_image *parts[WIRE_IMAGE_PARTS];
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
	struct wire_loaded done = {.missing = parts_use(m, names, a.parts, parts)};
	if (m->error || done.missing) {
		done.result = m->error;
		parts_release(m, parts, a.parts);
	} else {
		done.result = parts_load(ops, m, parts, a.parts, a.library, &j, &done.id);
	}
	m->session->output.kinds |= a.prints * !done.result;
	uint8_t *end = jit_options_reply(&j, out + sizeof done, &done.info, &done.error);
	memcpy(out, &done, sizeof done);
	m->out_used = wire_pad(end - m->out);
	jit_options_finish(&j);
}
