/*
 * OpenGL, EGL and VDPAU: the types that the prototypes of the interoperability functions need.
 */
#pragma once

#include "abi/cuda_base.h"
#include "abi/cuda_array.h"

typedef unsigned int GLuint;
typedef unsigned int GLenum;

typedef enum CUGLDeviceList_enum {
	CU_GL_DEVICE_LIST_ALL = 1,
	CU_GL_DEVICE_LIST_CURRENT_FRAME = 2,
	CU_GL_DEVICE_LIST_NEXT_FRAME = 3,
} CUGLDeviceList;

typedef enum CUGLmap_flags_enum {
	CU_GL_MAP_RESOURCE_FLAGS_NONE = 0x00,
	CU_GL_MAP_RESOURCE_FLAGS_READ_ONLY = 0x01,
	CU_GL_MAP_RESOURCE_FLAGS_WRITE_DISCARD = 0x02,
} CUGLmap_flags;

typedef int32_t EGLint;
typedef void *EGLImageKHR;
typedef void *EGLStreamKHR;
typedef void *EGLSyncKHR;
typedef struct CUeglStreamConnection_st *CUeglStreamConnection;

typedef enum CUeglFrameType_enum {
	CU_EGL_FRAME_TYPE_ARRAY = 0,
	CU_EGL_FRAME_TYPE_PITCH = 1,
} CUeglFrameType;

typedef enum CUeglResourceLocationFlags_enum {
	CU_EGL_RESOURCE_LOCATION_SYSMEM = 0x00,
	CU_EGL_RESOURCE_LOCATION_VIDMEM = 0x01,
} CUeglResourceLocationFlags;

typedef struct CUeglFrame_st {
	union {
		CUarray pArray[3];
		void *pPitch[3];
	} frame;
	unsigned int width, height, depth, pitch, planeCount, numChannels;
	CUeglFrameType frameType;
	unsigned int eglColorFormat; /* one of about a hundred pixel formats, never interpreted here */
	CUarray_format cuFormat;
} CUeglFrame_v1;
typedef CUeglFrame_v1 CUeglFrame;

typedef uint32_t VdpDevice;
typedef uint32_t VdpFuncId;
typedef uint32_t VdpOutputSurface;
typedef uint32_t VdpVideoSurface;
typedef int VdpStatus;
typedef VdpStatus VdpGetProcAddress(VdpDevice device, VdpFuncId function, void **pointer);
