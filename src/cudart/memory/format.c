/* Channel descriptions and the driver's array formats. */
#include "cudart/runtime.h"

/* Kinds of plain channels, by their bits. Each of the other kinds has one format. */
static const struct {
	cudaChannelFormatKind kind;
	int bits;
	CUarray_format format;
} plain_formats[] = {
	{cudaChannelFormatKindUnsigned, 8, CU_AD_FORMAT_UNSIGNED_INT8},
	{cudaChannelFormatKindUnsigned, 16, CU_AD_FORMAT_UNSIGNED_INT16},
	{cudaChannelFormatKindUnsigned, 32, CU_AD_FORMAT_UNSIGNED_INT32},
	{cudaChannelFormatKindSigned, 8, CU_AD_FORMAT_SIGNED_INT8},
	{cudaChannelFormatKindSigned, 16, CU_AD_FORMAT_SIGNED_INT16},
	{cudaChannelFormatKindSigned, 32, CU_AD_FORMAT_SIGNED_INT32},
	{cudaChannelFormatKindFloat, 16, CU_AD_FORMAT_HALF},
	{cudaChannelFormatKindFloat, 32, CU_AD_FORMAT_FLOAT},
};

/* Ranges of kinds whose formats have the same order. */
static const struct {
	cudaChannelFormatKind first, last;
	CUarray_format format;
	int bits;
} format_ranges[] = {
	{cudaChannelFormatKindNV12, cudaChannelFormatKindNV12, CU_AD_FORMAT_NV12, 8},
	{cudaChannelFormatKindUnsignedNormalized8X1, cudaChannelFormatKindUnsignedNormalized8X4,
		CU_AD_FORMAT_UNORM_INT8X1, 8},
	{cudaChannelFormatKindUnsignedNormalized16X1, cudaChannelFormatKindUnsignedNormalized16X4,
		CU_AD_FORMAT_UNORM_INT16X1, 16},
	{cudaChannelFormatKindSignedNormalized8X1, cudaChannelFormatKindSignedNormalized8X4, CU_AD_FORMAT_SNORM_INT8X1,
		8},
	{cudaChannelFormatKindSignedNormalized16X1, cudaChannelFormatKindSignedNormalized16X4,
		CU_AD_FORMAT_SNORM_INT16X1, 16},
	{cudaChannelFormatKindUnsignedBlockCompressed1, cudaChannelFormatKindSignedBlockCompressed5,
		CU_AD_FORMAT_BC1_UNORM, 8},
	{cudaChannelFormatKindUnsignedBlockCompressed6H, cudaChannelFormatKindSignedBlockCompressed6H,
		CU_AD_FORMAT_BC6H_UF16, 16},
	{cudaChannelFormatKindUnsignedBlockCompressed7, cudaChannelFormatKindUnsignedBlockCompressed7SRGB,
		CU_AD_FORMAT_BC7_UNORM, 8},
	{cudaChannelFormatKindUnsignedNormalized1010102, cudaChannelFormatKindUnsignedNormalized1010102,
		CU_AD_FORMAT_UNORM_INT_101010_2, 10},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

cudaError_t format_to_driver(const cudaChannelFormatDesc *d, CUarray_format *format, unsigned *channels)
{
	int bits[4] = {d->x, d->y, d->z, d->w};

	*channels = 0;
	while (*channels < 4 && bits[*channels])
		++*channels;
	for (unsigned i = 0; i < 4; i++)
		if ((i < *channels && bits[i] != bits[0] && d->f != cudaChannelFormatKindUnsignedNormalized1010102) ||
			(i >= *channels && bits[i]))
			return cudaErrorInvalidChannelDescriptor;
	for (unsigned i = 0; i < COUNT(plain_formats); i++)
		if (plain_formats[i].kind == d->f && plain_formats[i].bits == d->x) {
			*format = plain_formats[i].format;
			return *channels == 3 ? cudaErrorInvalidChannelDescriptor : cudaSuccess;
		}
	for (unsigned i = 0; i < COUNT(format_ranges) && *channels; i++)
		if (d->f >= format_ranges[i].first && d->f <= format_ranges[i].last) {
			*format = format_ranges[i].format + (d->f - format_ranges[i].first);
			return cudaSuccess;
		}
	return cudaErrorInvalidChannelDescriptor;
}

void format_from_driver(CUarray_format format, unsigned channels, cudaChannelFormatDesc *d)
{
	int bits = 0;

	d->f = cudaChannelFormatKindNone;
	for (unsigned i = 0; i < COUNT(plain_formats); i++)
		if (plain_formats[i].format == format) {
			d->f = plain_formats[i].kind;
			bits = plain_formats[i].bits;
		}
	for (unsigned i = 0; i < COUNT(format_ranges); i++) {
		unsigned n = format_ranges[i].last - format_ranges[i].first;
		if (format >= format_ranges[i].format && format <= format_ranges[i].format + n) {
			d->f = format_ranges[i].first + (format - format_ranges[i].format);
			bits = format_ranges[i].bits;
		}
	}
	d->x = channels > 0 ? bits : 0;
	d->y = channels > 1 ? bits : 0;
	d->z = channels > 2 ? bits : 0;
	d->w = channels > 3 ? format == CU_AD_FORMAT_UNORM_INT_101010_2 ? 2 : bits : 0;
}

cudaError_t format_element_size(CUarray_format format, unsigned channels, size_t *size)
{
	cudaChannelFormatDesc d;

	format_from_driver(format, channels, &d);
	*size = (size_t)(d.x + d.y + d.z + d.w) / 8;
	return *size ? cudaSuccess : cudaErrorInvalidChannelDescriptor;
}

cudaChannelFormatDesc rt_cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind f)
{
	return (cudaChannelFormatDesc){x, y, z, w, f};
}
