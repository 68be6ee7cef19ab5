/*
 * ptxas for the CPU device: checks PTX and keeps it, where NVIDIA's ptxas makes machine code of it.
 *
 * gangway run puts this program, under the name ptxas, before the vendor's for programs on a CPU device: Triton, XLA and
 * others start ptxas and hand the output to the driver. The output is a fatbin with the PTX as its entry, which every CUDA
 * driver accepts, also a GPU's. Options, messages and exit status follow the vendor's: callers parse them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/cli.h"
#include "gen/version.h"
#include "image/image.h"
#include "ptx/ptx.h"
#include "util/build_note.h"

#define INPUTS_MAX 64
#define TEXT_MAX   (1l << 30) /* bytes of one input */
#define PTX_MAJOR  9          /* the PTX version of GANGWAY_CUDA_VERSION */
#define PTX_MINOR  0
#define FAILED     255 /* the vendor's exit status for every error */

struct job {
	const char *input[INPUTS_MAX];
	unsigned ninputs;
	const char *output, *gpu;
	bool verbose, checks_only; /* checks_only: a virtual architecture is named, so there is no output */
};

/* The vendor's options that take a value, which may be the next word. All others are flags. */
static const struct valued_option {
	const char *name, *brief;
} valued_options[] = {
	{"Ofast-compile", "Ofc"},
	{"allow-expensive-optimizations", NULL},
	{"def-load-cache", "dlcm"},
	{"def-store-cache", "dscm"},
	{"device-function-maxrregcount", "func-maxrregcount"},
	{"device-stack-protector", NULL},
	{"entry", "e"},
	{"fmad", NULL},
	{"force-load-cache", "flcm"},
	{"force-store-cache", "fscm"},
	{"gpu-name", "arch"},
	{"machine", "m"},
	{"maxntid", NULL},
	{"maxrregcount", NULL},
	{"minnctapersm", NULL},
	{"opt-level", "O"},
	{"options-file", "optf"},
	{"output-file", "o"},
	{"position-independent-code", "pic"},
	{"register-usage-level", "regUsageLevel"},
	{"sanitize", NULL},
	{"split-compile", NULL},
};

__attribute__((format(printf, 1, 2))) static int ptxas_fail(const char *format, ...)
{
	va_list ap;

	fputs("ptxas fatal   : ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	return FAILED;
}

/* ---- options ---------------------------------------------------------------------------------------- */

static const struct valued_option *valued_option_find(const char *name, size_t n)
{
	for (size_t i = 0; i < sizeof valued_options / sizeof *valued_options; i++) {
		const struct valued_option *o = &valued_options[i];

		if ((strlen(o->name) == n && !memcmp(o->name, name, n)) ||
			(o->brief && strlen(o->brief) == n && !memcmp(o->brief, name, n)))
			return o;
	}
	return NULL;
}

static int job_set_gpu(struct job *job, const char *gpu)
{
	const char *name = !strncmp(gpu, "sm_", 3) ? gpu + 3 : !strncmp(gpu, "compute_", 8) ? gpu + 8 : "";

	if (*name < '1' || *name > '9')
		return ptxas_fail("Value '%s' is not defined for option 'gpu-name'", gpu);
	job->gpu = name;
	job->checks_only = *gpu == 'c';
	return 0;
}

static int job_set_value(struct job *job, const char *option, const char *value)
{
	if (!strcmp(option, "gpu-name"))
		return job_set_gpu(job, value);
	if (!strcmp(option, "output-file"))
		job->output = value;
	else if (!strcmp(option, "options-file"))
		return ptxas_fail("Gangway's ptxas does not support option 'options-file'");
	return 0; /* the others tune machine code */
}

/* Reads one option: --name=value, --name value, -brief value, or a flag. Moves *i to the last word of it. */
static int job_read_option(struct job *job, int argc, char **argv, int *i)
{
	const char *name = argv[*i] + 1 + (argv[*i][1] == '-');
	size_t n = strcspn(name, "=");
	const struct valued_option *o = valued_option_find(name, n);

	if (!o && name[0] == 'O' && name[1] >= '0' && name[1] <= '9') /* -O3 */
		return 0;
	if (!o) {
		job->verbose |= !strcmp(name, "v") || !strcmp(name, "verbose");
		if (!strcmp(name, "input-as-string") || !strcmp(name, "ias"))
			return ptxas_fail("Gangway's ptxas does not support option 'input-as-string'");
		return 0;
	}
	if (name[n])
		return job_set_value(job, o->name, name + n + 1);
	if (*i + 1 == argc)
		return ptxas_fail("Option '%s' requires a value", o->name);
	return job_set_value(job, o->name, argv[++*i]);
}

static int job_read(struct job *job, int argc, char **argv)
{
	int r = 0;

	for (int i = 1; i < argc && !r; i++) {
		if (argv[i][0] == '-' && argv[i][1])
			r = job_read_option(job, argc, argv, &i);
		else if (job->ninputs == INPUTS_MAX)
			r = ptxas_fail("More than %d input files", INPUTS_MAX);
		else
			job->input[job->ninputs++] = argv[i];
	}
	return r;
}

/* ---- checking --------------------------------------------------------------------------------------- */

static int report_ptx_error(const char *file, const struct ptx_error *e)
{
	fprintf(stderr, "ptxas %s, line %u; error   : %s\n", file, e->line, e->message);
	return FAILED;
}

static int function_check(const struct job *job, const char *file, struct ptx_function *f)
{
	int r = f->is_entry ? ptx_kernel_layout(f) : ptx_function_body(f);

	if (r == -ENOMEM)
		return ptxas_fail("Memory allocation failure");
	if (r == -EINVAL)
		return report_ptx_error(file, &f->error);
	if (job->verbose && f->is_entry)
		fprintf(stderr,
			"ptxas info    : Compiling entry function '%s' for 'sm_%s'\n"
			"ptxas info    : Function properties for %s\n"
			"    %llu bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n",
			f->name, job->gpu, f->name, (unsigned long long)f->local_total);
	return 0;
}

/*
 * Refuses PTX of a later major version than ours. XLA learns from this message which PTX version it may write: it tries
 * version 99.99.
 */
static int version_check(const char *file, const char *text)
{
	const char *directive = strstr(text, ".version");
	unsigned major, minor;

	if (!directive || sscanf(directive, ".version %u.%u", &major, &minor) != 2 || major <= PTX_MAJOR)
		return 0;
	fprintf(stderr, "ptxas %s, line 1; fatal   : Unsupported .version %u.%u; current version is '%d.%d'\n", file,
		major, minor, PTX_MAJOR, PTX_MINOR);
	return FAILED;
}

/* Whether the text is for a newer architecture than the options name: the caller has chosen them for another device. */
static bool target_is_newer(const struct ptx_module *m, const struct job *job)
{
	return m->sm > strtoul(job->gpu, NULL, 10);
}

static int text_check(const struct job *job, const char *file, const struct image_span *text)
{
	int r = version_check(file, text->data);
	struct ptx_module *m = r ? NULL : ptx_module_create(text->data, text->size);

	if (!m)
		return r ? r : ptxas_fail("Memory allocation failure");
	if (m->error.line)
		r = report_ptx_error(file, &m->error);
	else if (target_is_newer(m, job))
		r = ptxas_fail("SM version specified by .target is higher than default SM version assumed");
	for (struct ptx_function *f = m->functions; f && !r; f = f->next)
		r = function_check(job, file, f);
	ptx_module_destroy(m);
	return r;
}

/* ---- files ------------------------------------------------------------------------------------------ */

static int text_read(const char *file, struct image_span *text)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *data = NULL;
	size_t size = 0;
	ssize_t n = 1;

	if (fd < 0)
		return ptxas_fail("Input file '%s' could not be opened", file);
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= TEXT_MAX)
		data = malloc((size_t)st.st_size + 1);
	while (data && size < (size_t)st.st_size && (n = read(fd, data + size, (size_t)st.st_size - size)) > 0)
		size += (size_t)n;
	close(fd);
	if (!data || n < 0) {
		free(data);
		return ptxas_fail("Input file '%s' could not be read", file);
	}
	data[size] = 0;
	*text = (struct image_span){data, strlen(data)};
	return 0;
}

static int output_write(const char *file, const void *data, size_t size)
{
	FILE *f = fopen(file, "we");
	bool good = f && fwrite(data, 1, size, f) == size;

	if (f && fclose(f))
		good = false;
	return good ? 0 : ptxas_fail("Output file '%s' could not be written: %s", file, strerror(errno));
}

static int job_write(const struct job *job, const struct image_span *texts)
{
	void *data;
	size_t size;
	int r = job->ninputs == 1 ? image_fatbin_write(texts, &data, &size)
				  : image_set_write(texts, job->ninputs, &data, &size);

	if (r)
		return ptxas_fail("Output could not be made: %s", strerror(-r));
	r = output_write(job->output, data, size);
	free(data);
	return r;
}

static int job_run(const struct job *job)
{
	struct image_span texts[INPUTS_MAX] = {0};
	int r = 0;

	for (unsigned i = 0; i < job->ninputs && !r; i++) {
		r = text_read(job->input[i], &texts[i]);
		if (!r)
			r = text_check(job, job->input[i], &texts[i]);
	}
	if (r)
		ptxas_fail("Ptx assembly aborted due to errors");
	else if (!job->checks_only)
		r = job_write(job, texts);
	for (unsigned i = 0; i < job->ninputs; i++)
		free((void *)texts[i].data);
	return r;
}

/*
 * Callers take the CUDA release from this text, and with it the PTX version that they may write. Triton makes the whole
 * text part of its cache key, so its cache keeps our output apart from the vendor's.
 */
static int print_version(void)
{
	printf("ptxas: Gangway's stand-in for the CPU device, which keeps PTX\n%s\n"
	       "Cuda compilation tools, release %d.%d, V%d.%d.0\n",
		build_note_text, GANGWAY_CUDA_VERSION / 1000, GANGWAY_CUDA_VERSION % 1000 / 10,
		GANGWAY_CUDA_VERSION / 1000, GANGWAY_CUDA_VERSION % 1000 / 10);
	return 0;
}

static int print_usage(void)
{
	puts("usage: ptxas [options] FILE...\n\n"
	     "Check PTX for Gangway's CPU device and write it as a fatbin that the driver loads. gangway run puts\n"
	     "this ptxas before NVIDIA's for programs on a CPU device. NVIDIA's options are accepted; options that\n"
	     "tune machine code have no effect.\n\n"
	     "  -o FILE, --output-file FILE  the output; default elf.o\n"
	     "  -arch NAME, --gpu-name NAME  refuse PTX for newer devices than this; default sm_75. With compute_NN,\n"
	     "                               check only and write nothing\n"
	     "  -v, --verbose                list the kernels\n"
	     "  -V, --version                print the version\n"
	     "  -h, --help                   show this text");
	return 0;
}

int cmd_ptxas(int argc, char **argv)
{
	struct job job = {.output = "elf.o", .gpu = "75"};

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--version") || !strcmp(argv[i], "-V"))
			return print_version();
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return print_usage();
	}
	int r = job_read(&job, argc, argv);
	if (r)
		return r;
	if (!job.ninputs)
		return ptxas_fail("No input file was given");
	return job_run(&job);
}
