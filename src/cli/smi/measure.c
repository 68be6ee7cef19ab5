/* Values that change over time: memory, utilisation, clocks, power, temperature, errors. */
#include "cli/smi/value.h"

#define PUT(...) (snprintf(text, SMI_TEXT, __VA_ARGS__), NVML_SUCCESS)

/* ---- memory, in MiB ---- */

nvmlReturn_t value_memory(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	nvmlMemory_v2_t m = {.version = NVML_SIZED(nvmlMemory_v2_t, 2)};
	nvmlReturn_t r = g->f->nvmlDeviceGetMemoryInfo_v2(g->device, &m);

	if (r)
		return r;
	if (what == MEMORY_RESERVED) /* of which nobody has a part: rounded up */
		return PUT("%llu", (m.reserved + (1 << 20) - 1) >> 20);
	return PUT("%llu", value_mib(what == MEMORY_TOTAL ? m.total : what == MEMORY_USED ? m.used : m.free));
}

nvmlReturn_t value_bar1(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	nvmlBAR1Memory_t m;
	nvmlReturn_t r = g->f->nvmlDeviceGetBAR1MemoryInfo(g->device, &m);

	if (r)
		return r;
	return PUT("%llu", value_mib(what == MEMORY_TOTAL  ? m.bar1Total
				     : what == MEMORY_USED ? m.bar1Used
							   : m.bar1Free));
}

nvmlReturn_t value_protected(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	nvmlMemory_t m;
	nvmlReturn_t r = g->f->nvmlDeviceGetConfComputeProtectedMemoryUsage(g->device, &m);

	if (r)
		return r;
	return PUT("%llu", value_mib(what == MEMORY_TOTAL ? m.total : what == MEMORY_USED ? m.used : m.free));
}

/* ---- utilisation ---- */

nvmlReturn_t value_load(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	nvmlUtilization_t u;
	nvmlReturn_t r = g->f->nvmlDeviceGetUtilizationRates(g->device, &u);

	return r ? r : PUT("%u", what == LOAD_GPU ? u.gpu : u.memory);
}

nvmlReturn_t value_encoder(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	unsigned v[3];
	nvmlReturn_t r = g->f->nvmlDeviceGetEncoderStats(g->device, &v[0], &v[1], &v[2]);

	return r ? r : PUT("%u", v[what]);
}

nvmlReturn_t value_fbc(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	nvmlFBCStats_t s;
	nvmlReturn_t r = g->f->nvmlDeviceGetFBCStats(g->device, &s);

	return r ? r
		 : PUT("%u", what == STATS_SESSIONS ? s.sessionsCount
			     : what == STATS_FPS    ? s.averageFPS
						    : s.averageLatency);
}

/* ---- clocks, in MHz ---- */

/* One function for each NVML function that reports a clock. */
#define CLOCK(name, asks) \
	nvmlReturn_t name(const struct smi_gpu *g, int what, char text[SMI_TEXT]) \
	{ \
		unsigned v; \
		nvmlReturn_t r = g->f->asks(g->device, (nvmlClockType_t)what, &v); \
\
		return r ? r : PUT("%u", v); \
	}

CLOCK(value_clock, nvmlDeviceGetClockInfo)
CLOCK(value_set_clock, nvmlDeviceGetApplicationsClock)            /* as applications have asked for them */
CLOCK(value_default_clock, nvmlDeviceGetDefaultApplicationsClock) /* unless one has */
CLOCK(value_max_clock, nvmlDeviceGetMaxClockInfo)
CLOCK(value_boost_clock, nvmlDeviceGetMaxCustomerBoostClock)

/* Clock event reasons: the whole mask (0: active, 1: supported), or one bit. */
nvmlReturn_t value_reasons(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	unsigned long long v;
	nvmlReturn_t r = what ? g->f->nvmlDeviceGetSupportedClocksEventReasons(g->device, &v)
			      : g->f->nvmlDeviceGetCurrentClocksEventReasons(g->device, &v);

	return r ? r : PUT("0x%016llX", v);
}

nvmlReturn_t value_reason(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	unsigned long long v;
	nvmlReturn_t r = g->f->nvmlDeviceGetCurrentClocksEventReasons(g->device, &v);

	return r ? r : PUT("%s", v & (unsigned)what ? "Active" : "Not Active");
}

/* ---- power, in W from mW ---- */

nvmlReturn_t value_power(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	const struct nvml_ops *f = g->f;
	unsigned v = 0, least = 0, most = 0;
	nvmlReturn_t r;

	switch (what) {
	case POWER_DRAW:
		r = f->nvmlDeviceGetPowerUsage(g->device, &v);
		break;
	case POWER_LIMIT:
		r = f->nvmlDeviceGetPowerManagementLimit(g->device, &v);
		break;
	case POWER_ENFORCED:
		r = f->nvmlDeviceGetEnforcedPowerLimit(g->device, &v);
		break;
	case POWER_DEFAULT:
		r = f->nvmlDeviceGetPowerManagementDefaultLimit(g->device, &v);
		break;
	default:
		r = f->nvmlDeviceGetPowerManagementLimitConstraints(g->device, &least, &most);
		v = what == POWER_MIN ? least : most;
	}
	return r ? r : PUT("%.2f", v / 1000.0);
}

/* ---- fields by number: milliwatts and degrees ---- */

static double as_number(const nvmlFieldValue_t *v)
{
	switch (v->valueType) {
	case NVML_VALUE_TYPE_DOUBLE:
		return v->value.dVal;
	case NVML_VALUE_TYPE_SIGNED_INT:
		return v->value.siVal;
	case NVML_VALUE_TYPE_SIGNED_LONG_LONG:
		return (double)v->value.sllVal;
	case NVML_VALUE_TYPE_UNSIGNED_LONG:
	case NVML_VALUE_TYPE_UNSIGNED_LONG_LONG:
		return (double)v->value.ullVal;
	default:
		return v->value.uiVal;
	}
}

#define FIRST_POWER 185
#define LAST_POWER  192

nvmlReturn_t value_field(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	nvmlFieldValue_t v = {.fieldId = what & 0xffff, .scopeId = (unsigned)what >> 16};
	nvmlReturn_t r = g->f->nvmlDeviceGetFieldValues(g->device, 1, &v);

	if (r || v.nvmlReturn)
		return r ? r : v.nvmlReturn;
	if (v.fieldId >= FIRST_POWER && v.fieldId <= LAST_POWER)
		return PUT("%.2f", as_number(&v) / 1000);
	return PUT("%.0f", as_number(&v));
}

/* A counter in nanoseconds, shown in microseconds. */
nvmlReturn_t value_counter(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	nvmlFieldValue_t v = {.fieldId = (unsigned)what};
	nvmlReturn_t r = g->f->nvmlDeviceGetFieldValues(g->device, 1, &v);

	if (r || v.nvmlReturn)
		return r ? r : v.nvmlReturn;
	return PUT("%.0f", as_number(&v) / 1000);
}

nvmlReturn_t value_recovery(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	static const char *const names[] = {"None", "Reset", "Reboot", "Drain P2P", "Drain and Reset"};
	nvmlFieldValue_t v = {.fieldId = 230};
	nvmlReturn_t r = g->f->nvmlDeviceGetFieldValues(g->device, 1, &v);

	(void)what;
	if (r || v.nvmlReturn)
		return r ? r : v.nvmlReturn;
	return v.value.uiVal < 5 ? PUT("%s", names[v.value.uiVal]) : NVML_ERROR_UNKNOWN;
}

/* ---- temperature ---- */

nvmlReturn_t value_margin(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	nvmlMarginTemperature_t t = {.version = NVML_SIZED(nvmlMarginTemperature_t, 1)};
	nvmlReturn_t r = g->f->nvmlDeviceGetMarginTemperature(g->device, &t);

	(void)what;
	return r ? r : PUT("%d", t.marginTemperature);
}

nvmlReturn_t value_threshold(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	unsigned v;
	nvmlReturn_t r = g->f->nvmlDeviceGetTemperatureThreshold(g->device, (nvmlTemperatureThresholds_t)what, &v);

	return r ? r : PUT("%u", v);
}

/* ---- errors ---- */

nvmlReturn_t value_ecc(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	nvmlEccCounterType_t counter = what & ECC_AGGREGATE ? NVML_AGGREGATE_ECC : NVML_VOLATILE_ECC;
	nvmlMemoryErrorType_t type =
		what & ECC_UNCORRECTED ? NVML_MEMORY_ERROR_TYPE_UNCORRECTED : NVML_MEMORY_ERROR_TYPE_CORRECTED;
	unsigned location = (unsigned)what >> 4;
	unsigned long long v;
	nvmlReturn_t r = location ? g->f->nvmlDeviceGetMemoryErrorCounter(g->device, type, counter, location - 1, &v)
				  : g->f->nvmlDeviceGetTotalEccErrors(g->device, type, counter, &v);

	return r ? r : PUT("%llu", v);
}

nvmlReturn_t value_rows(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	unsigned v[4];
	nvmlReturn_t r = g->f->nvmlDeviceGetRemappedRows(g->device, &v[0], &v[1], &v[2], &v[3]);

	if (r)
		return r;
	return what < ROWS_PENDING ? PUT("%u", v[what]) : PUT("%s", v[what] ? "Yes" : "No");
}

nvmlReturn_t value_rows_inactive(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	nvmlRemappedRowsInfo_v2_t v;
	nvmlReturn_t r = g->f->nvmlDeviceGetRemappedRows_v2(g->device, &v);

	return r ? r : PUT("%u", what == ROWS_CORRECTED_INACTIVE ? v.corrInactiveRemaps : v.uncInactiveRemaps);
}

nvmlReturn_t value_sram(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	nvmlEccSramErrorStatus_t s = {.version = NVML_SIZED(nvmlEccSramErrorStatus_t, 1)};
	nvmlReturn_t r = g->f->nvmlDeviceGetSramEccErrorStatus(g->device, &s);
	const unsigned long long v[] = {s.volatileUncParity, s.volatileUncSecDed, s.aggregateUncParity,
		s.aggregateUncSecDed, s.aggregateUncBucketL2, s.aggregateUncBucketSm, s.aggregateUncBucketMcu,
		s.aggregateUncBucketPcie, s.aggregateUncBucketOther};

	if (r)
		return r;
	return what == SRAM_EXCEEDED ? PUT("%s", s.bThresholdExceeded ? "Yes" : "No") : PUT("%llu", v[what]);
}

nvmlReturn_t value_histogram(const struct smi_gpu *g, int what, char text[SMI_TEXT])
{
	nvmlRowRemapperHistogramValues_t h;
	nvmlReturn_t r = g->f->nvmlDeviceGetRowRemapperHistogram(g->device, &h);
	const unsigned v[] = {h.max, h.high, h.partial, h.low, h.none};

	return r ? r : PUT("%u", v[what]);
}
