/*
 * Compiles kernels with many kinds of parameters with nvcc, reads them back from cubins and PTX, and compares the
 * parameters with the layout of a C struct, for several architectures and compressions.
 *
 *	nvcc signatures.cu
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "test/check.h"
#include "test/image/read_code.h"
#include "signatures.h"

#define K(name, members) \
	struct args_##name { \
		members \
	};
#define F(type, name) type name;
#define P(type, name) type name;
ALL_SIGNATURES
#undef K
#undef F
#undef P

static const char *source;
static char folder[] = "/tmp/image-XXXXXX", file[64];

static void check_params(const struct image_code *code, const char *name, const struct image_param *want, size_t n)
{
	const struct image_kernel *k = image_code_kernel(code, name);

	CHECK(k && k->nparams == n && !memcmp(k->params, want, n * sizeof *want));
	CHECK(k && k->param_bytes == want[n - 1].offset + want[n - 1].size);
	if (!k || k->nparams != n || memcmp(k->params, want, n * sizeof *want))
		printf("	of %s in code for sm_%u\n", name, code->sm);
}

#define K(name, members) \
	static void check_##name(const struct image_code *code) \
	{ \
		typedef struct args_##name args; \
		static const struct image_param want[] = {members}; \
\
		check_params(code, #name, want, sizeof want / sizeof *want); \
	}
#define F(type, name) {offsetof(args, name), sizeof(type)},
#define P(type, name) {offsetof(args, name), sizeof(type)},
ALL_SIGNATURES
#undef K

static void check_global(const struct image_code *code, const char *name, uint64_t size, int constant, int managed)
{
	const struct image_global *g = image_code_global(code, name);

	CHECK(g && g->size == size && g->managed == managed && (g->space == IMAGE_SPACE_CONST) == constant);
}

static void check_limits(const struct image_code *code)
{
	const struct image_kernel *k = image_code_kernel(code, "bounded");

	CHECK(k && k->shared_bytes == 4 * SHARED_WORDS && k->max_threads[0] == 128 && k->max_threads[2] == 1);
	CHECK(k && (code->kind == IMAGE_PTX ? k->min_blocks == 2 : k->regs > 0 && k->barriers == 1));
	k = image_code_kernel(code, "clustered");
	CHECK(!k == (code->sm < 90));
	CHECK(!k || (k->cluster[0] == 2 && k->cluster[2] == 1 && k->explicit_cluster));
	k = image_code_kernel(code, "nothing");
	CHECK(k && k->nparams == 0 && k->param_bytes == 0);
}

static void check_code(const struct image_entry *e, const struct image_blob *blob)
{
	struct read_code r = read_code(blob->data, blob->size);
	const struct image_code *code = r.code;
	const struct image_global *first;

	if (!code) {
		printf("sm_%u: %s\n", e->sm, r.error);
		read_code_finish(&r);
		failures++;
		return;
	}
	CHECK(code->sm == e->sm);
#define K(name, members) check_##name(code);
	ALL_SIGNATURES
	check_limits(code);
	check_global(code, "counter", 4, 0, 0);
	check_global(code, "coef", 20, 1, 0);
	check_global(code, "everywhere", 4, 0, 1);
	if (!e->options.size || !memmem(e->options.data, e->options.size, "--compile-only", 14))
		CHECK(code->relocatable || image_code_global(code, "hidden"));
	CHECK(image_code_global(code, "counter") && !image_code_global(code, "counter")->init);
	first = image_code_global(code, "first");
	CHECK(first && (code->kind == IMAGE_PTX || (first->init && *(const char *)first->init == 7)));
	read_code_finish(&r);
}

static char *compile_source(const char *options, size_t *size)
{
	static char data[1 << 20];
	char command[1024];
	FILE *f;

	snprintf(command, sizeof command, "nvcc -std=c++17 %s -o %s %s >&2", options, file, source);
	if (system(command) || !(f = fopen(file, "rb"))) {
		printf("nvcc %s fails\n", options);
		failures++;
		return NULL;
	}
	*size = fread(data, 1, sizeof data - 1, f);
	data[*size] = 0;
	fclose(f);
	return data;
}

/* Compiles, reads every entry, and checks the number of entries and of entries with this packing. */
static void check_options(const char *options, unsigned entries, enum image_packing packing, unsigned packed)
{
	size_t size;
	char *data = compile_source(options, &size);
	struct image image;
	struct image_iter it;
	struct image_entry e;
	struct image_blob blob;

	if (!data)
		return;
	CHECK(image_init(&image, data, size) == 0);
	for (image_iter_init(&it, &image, 0); image_next(&it, &e); entries--) {
		packed -= e.packing == packing;
		CHECK(image_payload(&e, &blob) == 0);
		check_code(&e, &blob);
		image_blob_finish(&blob);
	}
	CHECK(!it.error);
	if (entries || packed)
		printf("%s: %d entries and %d packed ones are missing\n", options, (int)entries, (int)packed),
			failures++;
	image_finish(&image);
	CHECK(image_init_local(&image, data) == 0 && image.parts[0].size == size);
	image_finish(&image);
}

int main(int argc, char **argv)
{
	if (argc < 2 || system("command -v nvcc >/dev/null")) {
		printf("skipped: no nvcc on the PATH\n");
		return 77;
	}
	source = argv[1];
	if (!mkdtemp(folder))
		return perror(folder), 1;
	snprintf(file, sizeof file, "%s/out", folder);
	check_options("-cubin -arch=sm_75", 1, IMAGE_PLAIN, 1);
	check_options("-ptx -arch=compute_90", 1, IMAGE_PLAIN, 1);
	check_options(
		"-fatbin --compress-mode=none -gencode arch=compute_80,code=[compute_80,sm_80]", 2, IMAGE_PLAIN, 2);
	check_options("-fatbin --compress-mode=speed -Xfatbin -compress-all -gencode "
		      "arch=compute_86,code=[compute_86,sm_86]",
		2, IMAGE_LZ4, 2);
	check_options("-fatbin --compress-mode=size -gencode arch=compute_90a,code=sm_90a "
		      "-gencode arch=compute_100f,code=[compute_100f,sm_100f]",
		3, IMAGE_ZSTD, 3);
	check_options("-fatbin --compress-mode=default -rdc=true -gencode arch=compute_120,code=[compute_120,sm_120]",
		2, IMAGE_ZSTD, 2);
	check_options("-fatbin -G -gencode arch=compute_75,code=[compute_75,sm_75]", 2, IMAGE_ZSTD, 2);
	unlink(file);
	rmdir(folder);
	return failures != 0;
}
