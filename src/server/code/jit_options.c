/* Options of a load or link: numbers travel as they are, logs are written here and sent back. */
#include <stdlib.h>
#include "server/code/code.h"

static bool option_is_pointer(uint64_t option)
{
	switch (option) {
	case CU_JIT_GLOBAL_SYMBOL_NAMES:
	case CU_JIT_GLOBAL_SYMBOL_ADDRESSES:
	case CU_JIT_REFERENCED_KERNEL_NAMES:
	case CU_JIT_REFERENCED_VARIABLE_NAMES:
	case CU_JIT_GLOBAL_SYMBOL_COUNT: /* counts of the arrays above */
	case CU_JIT_REFERENCED_KERNEL_COUNT:
	case CU_JIT_REFERENCED_VARIABLE_COUNT:
		return true;
	default:
		return option >= CU_JIT_NUM_OPTIONS;
	}
}

static uint32_t log_size(uint64_t asked)
{
	return asked < WIRE_JIT_LOG ? asked : WIRE_JIT_LOG;
}

static bool logs_allocate(struct jit_options *j)
{
	bool info = false, error = false;

	for (unsigned i = 0; i < j->count; i++) {
		info |= j->option[i] == CU_JIT_INFO_LOG_BUFFER;
		error |= j->option[i] == CU_JIT_ERROR_LOG_BUFFER;
	}
	j->info = info ? calloc(1, j->info_size + 1) : NULL;
	j->error = error ? calloc(1, j->error_size + 1) : NULL;
	if (!info)
		j->info_size = 0;
	if (!error)
		j->error_size = 0;
	return (!info || j->info) && (!error || j->error);
}

/* However often an option is repeated, there is one buffer and one size. */
static void logs_attach(struct jit_options *j)
{
	for (unsigned i = 0; i < j->count; i++)
		switch (j->option[i]) {
		case CU_JIT_INFO_LOG_BUFFER:
			j->value[i] = j->info;
			break;
		case CU_JIT_ERROR_LOG_BUFFER:
			j->value[i] = j->error;
			break;
		case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
			j->value[i] = (void *)(uintptr_t)j->info_size;
			break;
		case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
			j->value[i] = (void *)(uintptr_t)j->error_size;
			break;
		default:
			break;
		}
}

bool jit_options_init(struct msg *m, struct jit_options *j, unsigned count)
{
	struct wire_jit *in;

	memset(j, 0, sizeof *j);
	if (count > WIRE_JIT_OPTIONS)
		m->broken = true;
	in = msg_in(m, count, wire_bytes(count, sizeof *in));
	if (m->broken)
		return false;
	for (unsigned i = 0; i < count; i++) {
		if (option_is_pointer(in[i].option)) {
			m->error = CUDA_ERROR_NOT_SUPPORTED;
			return false;
		}
		j->option[i] = (CUjit_option)in[i].option;
		j->value[i] = (void *)(uintptr_t)in[i].value;
		if (in[i].option == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES)
			j->info_size = log_size(in[i].value);
		if (in[i].option == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
			j->error_size = log_size(in[i].value);
	}
	j->count = count;
	if (!logs_allocate(j)) {
		m->error = CUDA_ERROR_OUT_OF_MEMORY;
		jit_options_finish(j);
		return false;
	}
	logs_attach(j);
	return true;
}

void jit_options_finish(struct jit_options *j)
{
	free(j->info);
	free(j->error);
	j->info = j->error = NULL;
}

size_t jit_options_reply_size(const struct jit_options *j)
{
	return j->count * sizeof(uint64_t) + wire_pad(j->info_size) + wire_pad(j->error_size);
}

static uint8_t *log_reply(uint8_t *to, const char *log, uint32_t size, uint32_t *used)
{
	*used = log ? strnlen(log, size) : 0;
	memcpy(to, log ? log : "", *used);
	return to + wire_pad(*used);
}

uint8_t *jit_options_reply(const struct jit_options *j, uint8_t *to, uint32_t *info, uint32_t *error)
{
	for (unsigned i = 0; i < j->count; i++, to += sizeof(uint64_t)) {
		bool log = j->option[i] == CU_JIT_INFO_LOG_BUFFER || j->option[i] == CU_JIT_ERROR_LOG_BUFFER;
		uint64_t v = log ? 0 : (uintptr_t)j->value[i]; /* addresses of the worker stay in the worker */
		memcpy(to, &v, sizeof v);
	}
	to = log_reply(to, j->info, j->info_size, info);
	return log_reply(to, j->error, j->error_size, error);
}
