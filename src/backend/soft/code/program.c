/* Loads an image: selects the entries for the device, unpacks them and passes them to the engine. */
#include "backend/soft/code/module.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/soft/memory/range.h"

static void program_free_managed(struct program *p)
{
	for (size_t i = 0; p->managed && i < p->code->nglobals; i++) {
		struct range *r = p->managed[i] ? range_remove(p->managed[i], 1u << RANGE_MANAGED) : NULL;

		if (r)
			r->release(r);
	}
	free(p->managed);
}

static void range_mark_variable(struct range *r, void *arg)
{
	(void)arg;
	r->variable = true;
}

/* Managed variables have the same address in all contexts, and exist before the first context. */
static CUresult program_place_managed(struct program *p)
{
	const struct code *code = p->code;
	bool any = false;

	p->managed = calloc(code->nglobals + 1, sizeof *p->managed);
	if (!p->managed)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < code->nglobals; i++) {
		const struct image_global *g = &code->globals[i];

		if (!g->managed || g->external || !g->size)
			continue;
		CUresult r = memory_alloc_without_context(&soft.devices[0], RANGE_MANAGED, g->size, &p->managed[i]);
		if (r)
			return r;
		range_change(p->managed[i], range_mark_variable, NULL);
		memset((void *)(uintptr_t)p->managed[i], 0, g->size);
		any = true;
	}
	return any && soft.engine->init_globals ? soft.engine->init_globals(p->code, p->managed, true) : CUDA_SUCCESS;
}

void program_ref(struct program *p)
{
	atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
}

void program_put(struct program *p)
{
	if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1)
		return;
	program_free_managed(p);
	soft.engine->unload(p->code);
	free(p);
}

/* Whether .version is the first word of the text, behind comments. */
static bool looks_like_ptx(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (isspace((unsigned char)text[i]))
			continue;
		if (i + 1 < size && text[i] == '/' && text[i + 1] == '/') {
			while (i < size && text[i] != '\n')
				i++;
			continue;
		}
		if (i + 1 < size && text[i] == '/' && text[i + 1] == '*') {
			const char *end = memmem(text + i + 2, size - i - 2, "*/", 2);

			if (!end)
				return false;
			i = end - text + 1;
			continue;
		}
		return size - i >= 8 && memcmp(text + i, ".version", 8) == 0;
	}
	return false;
}

/* Takes ownership of the code. */
static CUresult program_create(struct code *code, struct program **program)
{
	struct program *p = calloc(1, sizeof *p);
	CUresult r;

	if (!p) {
		soft.engine->unload(code);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	p->code = code;
	atomic_init(&p->refs, 1);
	r = program_place_managed(p);
	if (r)
		program_put(p);
	else
		*program = p;
	return r;
}

static CUresult piece_from_entry(const struct image_entry *e, struct image_blob *blob, struct engine_piece *piece)
{
	int err = image_payload(e, blob);

	if (err)
		return err == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_IMAGE;
	*piece = (struct engine_piece){
		.kind = e->kind == IMAGE_ENTRY_PTX ? IMAGE_PTX : IMAGE_CUBIN,
		.data = blob->data,
		.size = blob->size,
	};
	if (piece->kind == IMAGE_PTX && !looks_like_ptx(blob->data, blob->size))
		return CUDA_ERROR_INVALID_IMAGE;
	return CUDA_SUCCESS;
}

static CUresult load_entries(
	const struct image_entry *e, unsigned n, bool whole, struct jit *jit, struct program **program)
{
	struct engine_piece *pieces = calloc(n, sizeof *pieces);
	struct image_blob *blobs = calloc(n, sizeof *blobs);
	CUresult r = pieces && blobs ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	struct code *code;

	for (unsigned i = 0; i < n && !r; i++) {
		r = piece_from_entry(&e[i], &blobs[i], &pieces[i]);
		pieces[i].whole = whole;
	}
	if (!r)
		r = soft.engine->load(pieces, n, &soft.devices[0].info, &jit->error, &code);
	for (unsigned i = 0; i < n && blobs; i++)
		image_blob_finish(&blobs[i]);
	free(blobs);
	free(pieces);
	return r ? r : program_create(code, program);
}

/* Selects from parts 1, 2, ... of the image.  Parts without code for the device are left out. */
static int select_from_parts(
	const struct image *image, const struct image_want *want, struct image_entry *list, unsigned *n)
{
	int err = 0;

	*n = 0;
	for (unsigned i = 1; i < image->nparts && !err; i++) {
		err = image_select(image, i, want, &list[*n]);
		if (!err)
			++*n;
		else if (err == -ENOENT)
			err = 0;
	}
	return err;
}

/*
 * Links a program from parts 1, 2, ... of the image.  If a part that is left out is needed, the linker reports the
 * missing name.  PTX for other devices is taken only if no part has any for this one: NVIDIA's device runtime is part of
 * many programs, has PTX for the newest device only, and would hide the engine's own.
 */
static CUresult load_linked(
	const struct image *image, const struct image_want *want, struct jit *jit, struct program **program)
{
	struct image_entry *list = calloc(image->nparts, sizeof *list);
	struct image_want own = *want;
	unsigned n = 0;
	CUresult r;

	own.kinds &= ~IMAGE_WANT_OTHER_PTX;
	int err = list ? select_from_parts(image, &own, list, &n) : -ENOMEM;
	if (!err && !n)
		err = select_from_parts(image, want, list, &n);
	if (err)
		r = err == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_IMAGE;
	else if (!n)
		r = explain_no_binary(image, jit);
	else
		r = load_entries(list, n, false, jit, program);
	free(list);
	return r;
}

/*
 * Loads an entry; if the engine does not know all instructions of PTX for another device, the next such entry.  The last
 * one may have unknown instructions in kernels that the program does not launch.
 */
static CUresult load_entry(const struct image *image, const struct image_want *want, const struct image_entry *first,
	struct jit *jit, struct program **program)
{
	struct image_want ours = *want;
	struct image_entry e = *first, next;
	CUresult r;

	ours.kinds &= ~IMAGE_WANT_OTHER_PTX;
	if (!(want->kinds & IMAGE_WANT_OTHER_PTX) || !image_select(image, 0, &ours, &next))
		return load_entries(&e, 1, false, jit, program);
	for (;; e = next) {
		bool last = image_select_other(image, 0, want, &e, &next);

		r = load_entries(&e, 1, !last, jit, program);
		if (last || r != CUDA_ERROR_INVALID_PTX)
			return r;
	}
}

static CUresult load_best(const struct image *image, struct jit *jit, struct program **program)
{
	const struct engine_device *d = &soft.devices[0].info;
	struct image_want want = {d->major, d->minor, soft.engine->accepts};
	struct image_entry e;
	int err = image_select(image, 0, &want, &e);

	if (err == -ENOENT && image->nparts > 1)
		return load_linked(image, &want, jit, program);
	if (err == -ENOENT && image->kind == IMAGE_PTX) {
		struct image_iter it;

		image_iter_init(&it, image, 0);
		if (image_next(&it, &e) && !looks_like_ptx(e.payload, e.stored_size))
			return CUDA_ERROR_INVALID_IMAGE;
		engine_log(&jit->error, "the PTX requires a newer device than compute capability %d.%d", d->major,
			d->minor);
		return CUDA_ERROR_INVALID_PTX;
	}
	if (err == -ENOENT)
		return explain_no_binary(image, jit);
	if (err)
		return err == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_IMAGE;
	return load_entry(image, &want, &e, jit, program);
}

static CUresult load_image(struct image *image, int err, struct jit *jit, struct program **program)
{
	if (err)
		return err == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_IMAGE;
	CUresult r = load_best(image, jit, program);
	image_finish(image);
	return r;
}

CUresult program_load(const void *data, struct jit *jit, struct program **program)
{
	struct image image;

	return load_image(&image, image_init_local(&image, data), jit, program);
}

CUresult program_load_bytes(const void *data, size_t size, struct jit *jit, struct program **program)
{
	struct image image;

	return load_image(&image, image_init(&image, data, size), jit, program);
}

/*
 * Finds a name in a sorted array of structs whose first member is the name; -1: not there.  Static names may occur
 * several times in a linked program; the first one is the visible one.
 */
static int find_first_name(const void *array, size_t n, size_t size, const char *name)
{
	size_t low = 0, high = n;

#define NAME_AT(i) (*(const char *const *)((const char *)array + (i) * size))
	while (low < high) {
		size_t mid = (low + high) / 2;

		if (strcmp(name, NAME_AT(mid)) <= 0)
			high = mid;
		else
			low = mid + 1;
	}
	return low < n && !strcmp(name, NAME_AT(low)) ? (int)low : -1;
#undef NAME_AT
}

int program_kernel(const struct program *p, const char *name)
{
	return find_first_name(p->code->kernels, p->code->nkernels, sizeof *p->code->kernels, name);
}

int program_global(const struct program *p, const char *name)
{
	return find_first_name(p->code->globals, p->code->nglobals, sizeof *p->code->globals, name);
}

/* ---- JIT options ---- */

CUresult jit_read(struct jit *jit, unsigned n, CUjit_option *options, void **values)
{
	memset(jit, 0, sizeof *jit);
	jit->start = soft_now();
	if (n && (!options || !values))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < n; i++) {
		switch (options[i]) {
		case CU_JIT_INFO_LOG_BUFFER:
			jit->info.text = values[i];
			break;
		case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
			jit->info.size = (unsigned)(uintptr_t)values[i];
			jit->info_size = &values[i];
			break;
		case CU_JIT_ERROR_LOG_BUFFER:
			jit->error.text = values[i];
			break;
		case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
			jit->error.size = (unsigned)(uintptr_t)values[i];
			jit->error_size = &values[i];
			break;
		case CU_JIT_WALL_TIME:
			jit->wall_time = &values[i];
			break;
		case CU_JIT_GLOBAL_SYMBOL_COUNT: /* bind names to addresses of the application */
			if ((unsigned)(uintptr_t)values[i])
				return CUDA_ERROR_NOT_SUPPORTED;
			break;
		default: /* compiler options, which may be ignored */
			if ((int)options[i] < 0 || options[i] >= CU_JIT_NUM_OPTIONS)
				return CUDA_ERROR_INVALID_VALUE;
		}
	}
	if (jit->info.text && jit->info.size)
		jit->info.text[0] = 0;
	if (jit->error.text && jit->error.size)
		jit->error.text[0] = 0;
	return CUDA_SUCCESS;
}

/* Stores the used sizes of the log buffers and the elapsed time. */
void jit_write_outputs(struct jit *jit)
{
	if (jit->info_size)
		*jit->info_size = (void *)(uintptr_t)(jit->info.used ? jit->info.used + 1 : 0);
	if (jit->error_size)
		*jit->error_size = (void *)(uintptr_t)(jit->error.used ? jit->error.used + 1 : 0);
	if (jit->wall_time) {
		float ms = (float)(soft_now() - jit->start) / 1e6f;

		memcpy(jit->wall_time, &ms, sizeof ms);
	}
}
