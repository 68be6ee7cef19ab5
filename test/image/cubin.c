/*
 * Hand-made cubins in the formats of CUDA 13 and before: kernel, parameters, limits and variables are read. A truncated
 * or damaged cubin gives an error or a harmless result, and no read out of bounds.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "image/image.h"
#include "test/check.h"
#include "make.h"

static void check_readable_names(void)
{
	static const char *const names[][2] = {
		{"axpy", "axpy"},
		{"_Z12first_kernelPi", "first_kernel"},
		{"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_",
			"at::native::vectorized_elementwise_kernel"},
		{"_ZN5outer12_GLOBAL__N_16kernelEv", "outer::kernel"},
		{"_ZL8internalv", "internal"},
		{"_ZNKSt4hash4callEv", "std::hash::call"},
		{"_Z", "_Z"},
		{"_ZN", "_ZN"},
		{"_Z99short", "_Z99short"},
		{"_Z99999999999999999999999x", "_Z99999999999999999999999x"},
		{"_ZN0", "_ZN0"},
		{"", ""},
	};
	char text[128], letters[300];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(image_kernel_readable(names[i][0], text, sizeof text), names[i][1]))
			printf("%s is shown as %s, expected %s\n", names[i][0], text, names[i][1]), failures++;
	memset(letters, 'k', sizeof letters - 1);
	letters[sizeof letters - 1] = 0;
	CHECK_EQ(strlen(image_kernel_readable(letters, text, sizeof text)), 80);
	CHECK(!strcmp(text + 77, "..."));
}

static void check_kernel(const struct image_code *code)
{
	static const struct image_param params[] = {{0, 4}, {8, 8}, {16, 24}};
	const struct image_kernel *k = image_code_kernel(code, "axpy");

	CHECK(code->nkernels == 1 && k);
	if (!k)
		return;
	CHECK(k->nparams == 3 && !memcmp(k->params, params, sizeof params));
	CHECK(k->param_bytes == 40 && k->regs == 24 && k->local_bytes == 48 && k->shared_bytes == 256);
	CHECK(k->max_threads[0] == 128 && k->max_threads[1] == 2 && k->max_threads[2] == 1);
	CHECK(k->max_regs == 0 && k->barriers == 3 && !k->explicit_cluster && !k->local);
}

static void check_globals(const struct image_code *code)
{
	const struct image_global *counter = image_code_global(code, "counter"), *g;

	CHECK(code->nglobals == 4 && code->const_bytes == 16 && counter);
	CHECK(counter && counter->size == 4 && counter->offset == 8 && !counter->init && counter->local);
	g = image_code_global(code, "table");
	CHECK(g && g->size == 8 && g->init && !memcmp(g->init, "\1\2\3\4", 4) && g->space == IMAGE_SPACE_GLOBAL);
	g = image_code_global(code, "coef");
	CHECK(g && g->size == 12 && g->offset == 4 && g->space == IMAGE_SPACE_CONST && !g->managed);
	g = image_code_global(code, "shared_int");
	CHECK(g && g->managed && g->init && *(const char *)g->init == 9);
	CHECK(!image_code_global(code, "axpy") && !image_code_kernel(code, "coef"));
}

static void test_read(const struct make_cubin *c)
{
	static struct bytes b;
	struct image_code *code;
	struct image_error err;
	struct image image;

	b.size = 0;
	make_cubin(&b, c);
	CHECK(image_init_local(&image, b.data) == 0 && image.parts[0].size == b.size);
	CHECK(image_cubin_read(&code, b.data, b.size, &err) == 0);
	if (!code)
		return (void)printf("%s\n", err.text);
	CHECK(code->kind == IMAGE_CUBIN && code->sm == c->sm && !code->relocatable);
	check_kernel(code);
	check_globals(code);
	image_code_destroy(code);
}

/* Reads a copy of exactly this size, so that a sanitizer sees a read behind the end. */
static int try_read(const void *data, size_t size)
{
	char *copy = malloc(size ? size : 1);
	struct image_code *code;
	int r;

	memcpy(copy, data, size);
	r = image_cubin_read(&code, copy, size, NULL);
	image_code_destroy(code);
	free(copy);
	return r;
}

static void test_truncation(void)
{
	static struct bytes b;

	make_cubin(&b, &(struct make_cubin){.sm = 90});
	/* The section headers come last, so every truncation loses some. */
	for (size_t n = 0; n < b.size; n++)
		CHECK(try_read(b.data, n) < 0);
}

/* Overwrites every field of 1, 2, 4 and 8 bytes in turn with values that make sums overflow. */
static void test_damage(void)
{
	static const uint64_t values[] = {0, 1, 0x7fffffffffffffff, 0x8000000080000000, UINT64_MAX, UINT64_MAX - 7};
	static struct bytes good, b;

	make_cubin(&good, &(struct make_cubin){.sm = 90, .v2 = true});
	for (size_t at = 0; at < good.size; at++)
		for (size_t width = 1; width <= 8 && at % width == 0 && at + width <= good.size; width *= 2)
			for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
				b = good;
				memcpy(b.data + at, &values[v], width);
				try_read(b.data, b.size);
			}
}

static void test_refusals(void)
{
	static struct bytes b;
	Elf64_Ehdr h;

	make_cubin(&b, &(struct make_cubin){.sm = 90, .param_bytes = 39});
	CHECK(try_read(b.data, b.size) == -EINVAL); /* a parameter outside of the buffer */
	b.size = 0;
	make_cubin(&b, &(struct make_cubin){.sm = 90});
	memcpy(&h, b.data, sizeof h);
	h.e_machine = EM_X86_64;
	memcpy(b.data, &h, sizeof h);
	CHECK(try_read(b.data, b.size) == -EINVAL);
}

int main(void)
{
	check_readable_names();
	test_read(&(struct make_cubin){.sm = 90});
	test_read(&(struct make_cubin){.sm = 120, .v2 = true});
	test_read(&(struct make_cubin){.sm = 75});
	test_read(&(struct make_cubin){.sm = 86, .old = true});
	test_read(&(struct make_cubin){.sm = 75, .old = true, .no_record = true});
	test_truncation();
	test_damage();
	test_refusals();
	return failures != 0;
}
