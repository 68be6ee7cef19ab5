/* value.h - the functions of value.c, measure.c and place.c that format values, and the numbers of their values. */
#pragma once

#include "cli/smi/smi.h"

enum {
	TEXT_DRIVER,
	TEXT_NAME,
	TEXT_SERIAL,
	TEXT_UUID,
	TEXT_VBIOS,
	TEXT_PART,
	TEXT_IMAGE,
	TEXT_GSP,
	TEXT_HOST,
	TEXT_INFOROM
};
enum { PCI_ID, PCI_DOMAIN, PCI_BUS, PCI_DEVICE, PCI_IDS, PCI_SUBSYSTEM, PCI_CLASS, PCI_SUBCLASS };
enum {
	NUMBER_INDEX,
	NUMBER_COUNT,
	NUMBER_GEN,
	NUMBER_GEN_MAX,
	NUMBER_GEN_DEVICE_MAX,
	NUMBER_WIDTH,
	NUMBER_WIDTH_MAX,
	NUMBER_ACCOUNTING,
	NUMBER_FAN,
	NUMBER_TEMPERATURE,
	NUMBER_ENCODER,
	NUMBER_DECODER,
	NUMBER_JPEG,
	NUMBER_OFA,
	NUMBER_MINOR,
	NUMBER_TX,
	NUMBER_RX,
	NUMBER_REPLAYS,
	NUMBER_MODULE,
};
#define STATE_SECOND 64
enum {
	STATE_DISPLAY,
	STATE_PERSISTENCE,
	STATE_ACCOUNTING,
	STATE_ECC,
	STATE_MIG,
	STATE_GSP,
	STATE_AUTOBOOST,
	STATE_DRAM,
	STATE_C2C,
	STATE_POWER,
	STATE_ECC_PENDING = STATE_ECC | STATE_SECOND,
	STATE_MIG_PENDING = STATE_MIG | STATE_SECOND,
	STATE_GSP_DEFAULT = STATE_GSP | STATE_SECOND,
	STATE_AUTOBOOST_DEFAULT = STATE_AUTOBOOST | STATE_SECOND,
	STATE_DRAM_PENDING = STATE_DRAM | STATE_SECOND,
};
enum { DISPLAY_MODE, DISPLAY_ATTACHED };
enum { MEMORY_TOTAL, MEMORY_RESERVED, MEMORY_USED, MEMORY_FREE };
enum { LOAD_GPU, LOAD_MEMORY };
enum { STATS_SESSIONS, STATS_FPS, STATS_LATENCY };
enum { POWER_DRAW, POWER_LIMIT, POWER_ENFORCED, POWER_DEFAULT, POWER_MIN, POWER_MAX };
enum { ROWS_CORRECTED, ROWS_UNCORRECTED, ROWS_PENDING, ROWS_FAILURE };
enum { ROWS_CORRECTED_INACTIVE, ROWS_UNCORRECTED_INACTIVE };
enum {
	SRAM_PARITY,
	SRAM_SECDED,
	SRAM_ALL_PARITY,
	SRAM_ALL_SECDED,
	SRAM_L2,
	SRAM_SM,
	SRAM_MCU,
	SRAM_PCIE,
	SRAM_OTHER,
	SRAM_EXCEEDED,
};
enum { HISTOGRAM_MAX, HISTOGRAM_HIGH, HISTOGRAM_PARTIAL, HISTOGRAM_LOW, HISTOGRAM_NONE };
enum { PLATFORM_CHASSIS, PLATFORM_SLOT, PLATFORM_TRAY, PLATFORM_HOST, PLATFORM_PEER, PLATFORM_GUID };
#define PLATFORM_LISTED 64 /* for -q */
enum {
	FABRIC_STATE,
	FABRIC_STATUS,
	FABRIC_CLIQUE,
	FABRIC_CLUSTER,
	FABRIC_SUMMARY,
	FABRIC_BANDWIDTH,
	FABRIC_ROUTE_RECOVERY,
	FABRIC_ROUTE_UNHEALTHY,
	FABRIC_TIMEOUT_RECOVERY,
	FABRIC_CONFIGURATION,
	FABRIC_PARTITION,
};
#define ECC_AGGREGATE   1
#define ECC_UNCORRECTED 2
#define ECC_LOCATION(l) ((l) << 4) /* nvmlMemoryLocation_t + 1; 0 for all locations */

nvmlReturn_t value_none(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_time(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_text(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_pci(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_number(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_board(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_state(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_display(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_addressing(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_inforom(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_egm(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_multi(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_brand(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_architecture(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_compute_mode(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_virtual(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_capability(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_pstate(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_memory(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_bar1(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_protected(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_load(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_encoder(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_fbc(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_clock(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_set_clock(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_default_clock(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_max_clock(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_boost_clock(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_reasons(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_reason(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_power(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_field(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_counter(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_margin(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_threshold(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_ecc(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_rows(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_rows_inactive(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_sram(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_histogram(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_recovery(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_platform(const struct smi_gpu *g, int what, char text[SMI_TEXT]);
nvmlReturn_t value_fabric(const struct smi_gpu *g, int what, char text[SMI_TEXT]);

/* For value_field: an NVML field id, with its scope in the upper half. */
#define FIELD(id, scope) ((id) | (scope) << 16)
