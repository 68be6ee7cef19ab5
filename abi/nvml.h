/*
 * nvml.h - our own declarations of NVML's binary interface, release 580.
 *
 * Structs that Gangway reads or fills are declared in full; structs that it only passes on are a size and an alignment
 * (nvml_sizes.def).  Where NVIDIA's header is available, test/abi compares everything with it.
 */
#pragma once

typedef enum {
#define NVML_RESULT(name, value, words) name = value,
#include "abi/nvml_errors.def"
#undef NVML_RESULT
} nvmlReturn_t;

typedef struct nvmlDevice_st *nvmlDevice_t;
typedef struct nvmlUnit_st *nvmlUnit_t;
typedef struct nvmlEventSet_st *nvmlEventSet_t;
typedef struct nvmlGpuInstance_st *nvmlGpuInstance_t;
typedef struct nvmlComputeInstance_st *nvmlComputeInstance_t;
typedef struct nvmlGpmSample_st *nvmlGpmSample_t;

#define NVML_STRUCT(type, size, align) \
	typedef struct { \
		_Alignas(align) unsigned char bytes[size]; \
	} type;
#include "abi/nvml_sizes.def"
#undef NVML_STRUCT

/* ---- Constants ---- */

#define NVML_INIT_FLAG_NO_GPUS   1
#define NVML_INIT_FLAG_NO_ATTACH 2

#define NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE    32
#define NVML_DEVICE_PCI_BUS_ID_BUFFER_V2_SIZE 16
#define NVML_DEVICE_UUID_BUFFER_SIZE          80
#define NVML_DEVICE_NAME_BUFFER_SIZE          64
#define NVML_DEVICE_NAME_V2_BUFFER_SIZE       96
#define NVML_DEVICE_ARCH_BLACKWELL            10
#define NVML_DEVICE_ARCH_UNKNOWN              0xffffffff
#define NVML_VALUE_NOT_AVAILABLE              (-1)

/* The first word of a versioned struct: its size and its version. */
#define NVML_SIZED(type, version) ((unsigned)(sizeof(type) | (version) << 24))

typedef enum {
	NVML_FEATURE_DISABLED = 0,
	NVML_FEATURE_ENABLED = 1,
} nvmlEnableState_t;

typedef enum {
	NVML_CLOCK_GRAPHICS = 0,
	NVML_CLOCK_SM = 1,
	NVML_CLOCK_MEM = 2,
	NVML_CLOCK_VIDEO = 3,
	NVML_CLOCK_COUNT,
} nvmlClockType_t;

typedef enum {
	NVML_CLOCK_ID_CURRENT = 0,
	NVML_CLOCK_ID_APP_CLOCK_TARGET = 1,
	NVML_CLOCK_ID_APP_CLOCK_DEFAULT = 2,
	NVML_CLOCK_ID_CUSTOMER_BOOST_MAX = 3,
	NVML_CLOCK_ID_COUNT,
} nvmlClockId_t;

typedef enum {
	NVML_TEMPERATURE_GPU = 0,
	NVML_TEMPERATURE_COUNT,
} nvmlTemperatureSensors_t;

typedef enum {
	NVML_TEMPERATURE_THRESHOLD_SHUTDOWN = 0,
	NVML_TEMPERATURE_THRESHOLD_SLOWDOWN = 1,
	NVML_TEMPERATURE_THRESHOLD_MEM_MAX = 2,
	NVML_TEMPERATURE_THRESHOLD_GPU_MAX = 3,
} nvmlTemperatureThresholds_t;

typedef enum {
	NVML_PCIE_UTIL_TX_BYTES = 0,
	NVML_PCIE_UTIL_RX_BYTES = 1,
	NVML_PCIE_UTIL_COUNT,
} nvmlPcieUtilCounter_t;

typedef enum {
	NVML_COMPUTEMODE_DEFAULT = 0,
	NVML_COMPUTEMODE_EXCLUSIVE_THREAD = 1,
	NVML_COMPUTEMODE_PROHIBITED = 2,
	NVML_COMPUTEMODE_EXCLUSIVE_PROCESS = 3,
} nvmlComputeMode_t;

typedef enum {
	NVML_PSTATE_0 = 0,
	NVML_PSTATE_15 = 15,
	NVML_PSTATE_UNKNOWN = 32,
} nvmlPstates_t;

typedef enum {
	NVML_MEMORY_ERROR_TYPE_CORRECTED = 0,
	NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 1,
} nvmlMemoryErrorType_t;

typedef enum {
	NVML_VOLATILE_ECC = 0,
	NVML_AGGREGATE_ECC = 1,
} nvmlEccCounterType_t;

typedef enum {
	NVML_INFOROM_OEM = 0,
	NVML_INFOROM_ECC = 1,
	NVML_INFOROM_POWER = 2,
} nvmlInforomObject_t;

typedef enum {
	NVML_P2P_STATUS_OK = 0,
	NVML_P2P_STATUS_NOT_SUPPORTED = 5,
	NVML_P2P_STATUS_UNKNOWN = 6,
} nvmlGpuP2PStatus_t;

typedef enum {
	NVML_P2P_CAPS_INDEX_READ = 0,
	NVML_P2P_CAPS_INDEX_WRITE = 1,
	NVML_P2P_CAPS_INDEX_NVLINK = 2,
	NVML_P2P_CAPS_INDEX_ATOMICS = 3,
	NVML_P2P_CAPS_INDEX_PCI = 4,
	NVML_P2P_CAPS_INDEX_UNKNOWN = 5,
} nvmlGpuP2PCapsIndex_t;

typedef enum {
	NVML_NVLINK_DEVICE_TYPE_GPU = 0,
	NVML_NVLINK_DEVICE_TYPE_UNKNOWN = 0xff,
} nvmlIntNvLinkDeviceType_t;

typedef enum {
	NVML_TOPOLOGY_INTERNAL = 0,
	NVML_TOPOLOGY_SYSTEM = 50,
} nvmlGpuTopologyLevel_t;

typedef enum {
	NVML_GPU_VIRTUALIZATION_MODE_NONE = 0,
	NVML_GPU_VIRTUALIZATION_MODE_PASSTHROUGH = 1,
	NVML_GPU_VIRTUALIZATION_MODE_VGPU = 2,
	NVML_GPU_VIRTUALIZATION_MODE_HOST_VGPU = 3,
	NVML_GPU_VIRTUALIZATION_MODE_HOST_VSGA = 4,
} nvmlGpuVirtualizationMode_t;

typedef enum {
	NVML_VALUE_TYPE_DOUBLE = 0,
	NVML_VALUE_TYPE_UNSIGNED_INT = 1,
	NVML_VALUE_TYPE_UNSIGNED_LONG = 2,
	NVML_VALUE_TYPE_UNSIGNED_LONG_LONG = 3,
	NVML_VALUE_TYPE_SIGNED_LONG_LONG = 4,
	NVML_VALUE_TYPE_SIGNED_INT = 5,
	NVML_VALUE_TYPE_UNSIGNED_SHORT = 6,
} nvmlValueType_t;

enum { NVML_UUID_TYPE_ASCII = 1, NVML_UUID_TYPE_BINARY = 2 };

/* Enums whose values are only passed on. */
typedef unsigned int nvmlAffinityScope_t, nvmlBrandType_t, nvmlBusType_t, nvmlDetachGpuState_t,
	nvmlDeviceArchitecture_t, nvmlDeviceVgpuCapability_t, nvmlDriverModel_t, nvmlEncoderType_t,
	nvmlFanControlPolicy_t, nvmlGpuOperationMode_t, nvmlHostVgpuMode_t, nvmlLedColor_t, nvmlMemoryLocation_t,
	nvmlNvLinkCapability_t, nvmlNvLinkErrorCounter_t, nvmlPageRetirementCause_t, nvmlPcieLinkState_t,
	nvmlPerfPolicyType_t, nvmlPowerSource_t, nvmlRestrictedAPI_t, nvmlSamplingType_t, nvmlVgpuCapability_t,
	nvmlVgpuDriverCapability_t, nvmlVgpuInstance_t, nvmlVgpuTypeId_t, nvmlVgpuVmIdType_t;

/* ---- Structs ---- */

typedef struct {
	char busIdLegacy[NVML_DEVICE_PCI_BUS_ID_BUFFER_V2_SIZE]; /* "0000:01:00.0" */
	unsigned int domain, bus, device;
	unsigned int pciDeviceId, pciSubSystemId;       /* low half: vendor; high half: device */
	char busId[NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE]; /* "00000000:01:00.0" */
} nvmlPciInfo_t;

typedef struct {
	unsigned int version;
	unsigned int domain, bus, device;
	unsigned int pciDeviceId, pciSubSystemId;
	unsigned int baseClass, subClass;
	char busId[NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE];
} nvmlPciInfoExt_t;

typedef struct {
	unsigned int version;
	unsigned int type; /* NVML_UUID_TYPE_ */
	union {
		char str[41];
		unsigned char bytes[16];
	} value;
} nvmlUUID_t;

typedef struct {
	unsigned long long total, free, used;
} nvmlMemory_t;

typedef struct {
	unsigned int version;
	unsigned long long total, reserved, free, used;
} nvmlMemory_v2_t;

typedef struct {
	unsigned long long bar1Total, bar1Free, bar1Used;
} nvmlBAR1Memory_t;

typedef struct {
	unsigned int gpu, memory; /* percent of the sample period */
} nvmlUtilization_t;

typedef struct {
	unsigned int pid;
	unsigned long long usedGpuMemory;
} nvmlProcessInfo_v1_t;

typedef struct {
	unsigned int pid;
	unsigned long long usedGpuMemory;
	unsigned int gpuInstanceId, computeInstanceId; /* ~0: not a MIG device */
} nvmlProcessInfo_v2_t;

typedef nvmlProcessInfo_v2_t nvmlProcessInfo_t;

typedef struct {
	unsigned int pid;
	unsigned long long usedGpuMemory;
	unsigned int gpuInstanceId, computeInstanceId;
	unsigned long long usedGpuCcProtectedMemory;
} nvmlProcessDetail_v1_t;

typedef struct {
	unsigned int version;
	unsigned int mode; /* 0 compute, 1 graphics, 2 MPS */
	unsigned int numProcArrayEntries;
	nvmlProcessDetail_v1_t *procArray;
} nvmlProcessDetailList_t;

typedef struct {
	unsigned int pid;
	unsigned long long timeStamp; /* microseconds since 1970 */
	unsigned int smUtil, memUtil, encUtil, decUtil;
} nvmlProcessUtilizationSample_t;

typedef union {
	double dVal;
	int siVal;
	unsigned int uiVal;
	unsigned long ulVal;
	unsigned long long ullVal;
	signed long long sllVal;
	unsigned short usVal;
} nvmlValue_t;

typedef struct {
	unsigned int fieldId, scopeId;
	long long timestamp, latencyUsec;
	nvmlValueType_t valueType;
	nvmlReturn_t nvmlReturn; /* result of this value */
	nvmlValue_t value;
} nvmlFieldValue_t;

typedef struct {
	unsigned long long timeStamp;
	nvmlValue_t sampleValue;
} nvmlSample_t;

typedef struct {
	unsigned int version;
	nvmlTemperatureSensors_t sensorType;
	int temperature;
} nvmlTemperature_t;

typedef struct {
	unsigned int version;
	int marginTemperature;
} nvmlMarginTemperature_t;

/* Position in a chassis; 255: not in one.  Version 1 has other names for the same bytes. */
typedef struct {
	unsigned int version;
	unsigned char ibGuid[16];              /* the first eight as one number */
	unsigned char chassisSerialNumber[16]; /* text */
	unsigned char slotNumber, trayIndex, hostId;
	unsigned char peerType; /* 0: direct, 1: through a switch */
	unsigned char moduleId;
} nvmlPlatformInfo_v2_t, nvmlPlatformInfo_t;

#define NVML_GPU_FABRIC_STATE_NOT_SUPPORTED 0
#define NVML_GPU_FABRIC_STATE_NOT_STARTED   1
#define NVML_GPU_FABRIC_STATE_IN_PROGRESS   2
#define NVML_GPU_FABRIC_STATE_COMPLETED     3

#define NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_DEGRADED_BW             0
#define NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ROUTE_RECOVERY          2
#define NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ROUTE_UNHEALTHY         4
#define NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ACCESS_TIMEOUT_RECOVERY 6
#define NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_INCORRECT_CONFIGURATION 8

typedef unsigned char nvmlGpuFabricState_t;

typedef struct {
	unsigned int version;
	unsigned char clusterUuid[16];
	nvmlReturn_t status; /* valid when the probe is completed */
	unsigned int cliqueId;
	nvmlGpuFabricState_t state;
	unsigned int healthMask;
} nvmlGpuFabricInfo_v2_t;

typedef struct {
	unsigned int version;
	unsigned char clusterUuid[16];
	nvmlReturn_t status;
	unsigned int cliqueId;
	nvmlGpuFabricState_t state;
	unsigned int healthMask;
	unsigned char healthSummary; /* 0: unknown */
} nvmlGpuFabricInfo_v3_t, nvmlGpuFabricInfoV_t;

typedef struct {
	unsigned int version;
	unsigned long long aggregateUncParity, aggregateUncSecDed, aggregateCor;
	unsigned long long volatileUncParity, volatileUncSecDed, volatileCor;
	unsigned long long aggregateUncBucketL2, aggregateUncBucketSm, aggregateUncBucketPcie;
	unsigned long long aggregateUncBucketMcu, aggregateUncBucketOther;
	unsigned int bThresholdExceeded;
} nvmlEccSramErrorStatus_t;

typedef struct {
	unsigned int corrActiveRemaps, corrInactiveRemaps;
	unsigned int uncActiveRemaps, uncInactiveRemaps;
	unsigned int bPending, bFailureOccurred;
} nvmlRemappedRowsInfo_v2_t;

typedef struct {
	unsigned int version, value;
} nvmlDeviceAddressingMode_t;

typedef struct {
	unsigned int version;
	nvmlEnableState_t encryptionState;
} nvmlDramEncryptionInfo_t;

typedef struct {
	unsigned int isC2cEnabled;
} nvmlC2cModeInfo_v1_t;

#define NVML_DEV_CAP_EGM 1

typedef struct {
	unsigned int version, capMask;
} nvmlDeviceCapabilities_t;

typedef struct {
	unsigned int version;
	char branch[80];
} nvmlSystemDriverBranchInfo_t;

typedef struct {
	unsigned long long l1Cache, l2Cache, deviceMemory, registerFile;
} nvmlEccErrorCounts_t;

typedef struct {
	unsigned int sessionsCount, averageFPS, averageLatency;
} nvmlFBCStats_t;

typedef struct {
	unsigned int version;
	nvmlClockType_t type;
	nvmlPstates_t pstate;
	int clockOffsetMHz, minClockOffsetMHz, maxClockOffsetMHz;
} nvmlClockOffset_t;

typedef struct {
	unsigned int max, high, partial, low, none;
} nvmlRowRemapperHistogramValues_t;

typedef struct {
	unsigned int multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount, sharedEncoderCount;
	unsigned int sharedJpegCount, sharedOfaCount, gpuInstanceSliceCount, computeInstanceSliceCount;
	unsigned long long memorySizeMB;
} nvmlDeviceAttributes_t;

typedef struct {
	unsigned long long referenceTime, violationTime;
} nvmlViolationTime_t;
