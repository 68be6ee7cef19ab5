/* Copies and fills: every kind, variables of the code, rows, slices, batches, illegal arguments. */
#include "test/cudart/parity.h"

static void try_kinds(char *d, char *h)
{
	for (int kind = -1; kind < 6; kind++) {
		bool from_device = kind == 2 || kind == 3, to_device = kind == 1 || kind == 3 || kind == 4;
		TRY(cudaMemcpy, to_device ? d : h + 64, from_device ? d + 64 : h, 16, kind);
		TRY(cudaMemcpyAsync, to_device ? d : h + 64, from_device ? d + 64 : h, 16, kind, NULL);
		TRY(cudaMemcpy, d, h, 0, kind);
		TRY(cudaMemcpyAsync, d, h, 0, kind, NULL);
		TRY(cudaMemcpy2D, to_device ? d : h + 64, 8, from_device ? d + 64 : h, 8, 4, 4, kind);
		TRY(cudaMemcpy2DAsync, to_device ? d : h + 64, 8, from_device ? d + 64 : h, 8, 4, 4, kind, NULL);
		TRY(cudaMemcpyToSymbol, &parity_offset, h, 4, 4, kind);
		TRY(cudaMemcpyFromSymbol, h, &parity_offset, 4, 4, kind);
		TRY(cudaMemcpyToSymbolAsync, &parity_offset, h, 4, 4, kind, NULL);
		TRY(cudaMemcpyFromSymbolAsync, h, &parity_offset, 4, 4, kind, NULL);
	}
	TRY(cudaMemcpy, NULL, h, 16, cudaMemcpyHostToDevice);
	TRY(cudaMemcpy, d, NULL, 16, cudaMemcpyHostToDevice);
	TRY(cudaMemcpy, BAD(void *), h, 16, cudaMemcpyHostToDevice);
	TRY(cudaMemcpy, d, h, (size_t)1 << 40, cudaMemcpyHostToDevice);
	TRY(cudaMemcpy, NULL, NULL, 0, cudaMemcpyHostToDevice);
	TRY(cudaMemcpyAsync, d, h, 16, cudaMemcpyHostToDevice, BAD(cudaStream_t));
	TRY(cudaMemcpyAsync, d, h, 0, cudaMemcpyHostToDevice, BAD(cudaStream_t));
	TRY(cudaMemcpy2D, d, 4, h, 8, 8, 4, cudaMemcpyHostToDevice);
	TRY(cudaMemcpy2D, d, 8, h, 4, 8, 4, cudaMemcpyHostToDevice);
	TRY(cudaMemcpy2D, d, 8, h, 8, 0, 4, cudaMemcpyHostToDevice);
	TRY(cudaMemcpy2D, d, 8, h, 8, 4, 0, cudaMemcpyHostToDevice);
	TRY(cudaMemcpy2D, NULL, 8, h, 8, 4, 4, cudaMemcpyHostToDevice);
	TRY(cudaMemcpy2D, d, (size_t)1 << 40, h, 8, 4, 4, cudaMemcpyHostToDevice);
}

static void try_symbols(char *h)
{
	void *p = NULL;
	size_t size = 0;

	TRY(cudaGetSymbolAddress, &p, &parity_offset);
	SHOW(!!p);
	TRY(cudaGetSymbolAddress, &p, &parity_plus);
	TRY(cudaGetSymbolAddress, &p, &parity_nowhere);
	TRY(cudaGetSymbolAddress, &p, h);
	TRY(cudaGetSymbolAddress, &p, NULL);
	TRY(cudaGetSymbolAddress, &p, &parity_managed);
	SHOW(p == parity_managed);
	TRY(cudaGetSymbolAddress, &p, parity_managed);
	SHOW(p == parity_managed);
	TRY(cudaGetSymbolSize, &size, parity_managed);
	TRY(cudaMemcpyFromSymbol, h, parity_managed, 4, 0, cudaMemcpyDeviceToHost);
	TRY(cudaGetSymbolSize, &size, &parity_offset);
	SHOW(size);
	TRY(cudaGetSymbolSize, &size, &parity_managed);
	SHOW(size);
	TRY(cudaGetSymbolSize, &size, h);
	TRY(cudaMemcpyToSymbol, &parity_offset, h, 16, 4, cudaMemcpyHostToDevice);
	TRY(cudaMemcpyToSymbol, &parity_offset, h, 4, 17, cudaMemcpyHostToDevice);
	TRY(cudaMemcpyToSymbol, &parity_offset, h, 0, 0, cudaMemcpyHostToDevice);
	TRY(cudaMemcpyToSymbol, h, h, 4, 0, cudaMemcpyHostToDevice);
	TRY(cudaMemcpyFromSymbol, h, &parity_offset, 17, 0, cudaMemcpyDeviceToHost);
	TRY(cudaMemcpyFromSymbol, h, &parity_managed, 4, 0, cudaMemcpyDeviceToHost);
}

static void try_fills(char *d, char *h)
{
	cudaPitchedPtr box = {d, 16, 16, 4};

	TRY(cudaMemset, d, 300, 256);
	TRY(cudaMemcpy, h, d, 256, cudaMemcpyDeviceToHost);
	SHOW(h[255]);
	TRY(cudaMemset, d, 1, 0);
	TRY(cudaMemset, NULL, 1, 0);
	TRY(cudaMemset, NULL, 1, 4);
	TRY(cudaMemset, BAD(void *), 1, 4);
	TRY(cudaMemset, h, 1, 4);
	TRY(cudaMemsetAsync, d, 1, 4, NULL);
	TRY(cudaMemsetAsync, d, 1, 4, BAD(cudaStream_t));
	TRY(cudaMemset2D, d, 16, 2, 8, 4);
	TRY(cudaMemset2D, d, 4, 2, 8, 4);
	TRY(cudaMemset2D, d, 4, 2, 8, 1);
	TRY(cudaMemset2D, d, 16, 2, 0, 4);
	TRY(cudaMemset2D, d, 16, 2, 8, 0);
	TRY(cudaMemset2DAsync, d, 16, 2, 8, 4, NULL);
	TRY(cudaMemset3D, box, 7, (cudaExtent){8, 2, 3});
	TRY(cudaMemset3D, box, 8, (cudaExtent){16, 4, 3});
	TRY(cudaMemset3D, box, 8, (cudaExtent){0, 4, 3});
	TRY(cudaMemset3D, box, 8, (cudaExtent){17, 4, 3});
	TRY(cudaMemset3D, box, 8, (cudaExtent){8, 5, 3});
	TRY(cudaMemset3DAsync, box, 9, (cudaExtent){8, 2, 3}, NULL);
	TRY(cudaMemcpy, h, d, 256, cudaMemcpyDeviceToHost);
	for (int i = 0; i < 256; i += 8)
		printf("    %d %d\n", i, h[i]);
}

static void try_slices(char *d, char *h)
{
	cudaMemcpy3DParms p = {.srcPtr = {h, 16, 16, 4}, .dstPtr = {d, 16, 16, 4}, .extent = {8, 4, 2}, .kind = 1};
	cudaMemcpy3DPeerParms q = {.srcPtr = {d, 16, 16, 4}, .dstPtr = {d + 512, 16, 16, 4}, .extent = {8, 4, 2}};

	TRY(cudaMemcpy3D, &p);
	TRY(cudaMemcpy3DAsync, &p, NULL);
	TRY(cudaMemcpy3D, NULL);
	p.kind = 9;
	TRY(cudaMemcpy3D, &p);
	p.kind = 4;
	TRY(cudaMemcpy3D, &p);
	p.kind = 1;
	p.extent.width = 17;
	TRY(cudaMemcpy3D, &p);
	p.extent = (cudaExtent){8, 0, 2};
	TRY(cudaMemcpy3D, &p);
	p.extent = (cudaExtent){8, 4, 2};
	p.srcPos = (cudaPos){4, 1, 1};
	TRY(cudaMemcpy3D, &p);
	p.srcPos = (cudaPos){10, 0, 0};
	TRY(cudaMemcpy3D, &p);
	p.srcPos = (cudaPos){0, 0, 0};
	p.srcPtr.ysize = 2;
	TRY(cudaMemcpy3D, &p);
	p.extent.depth = 1;
	TRY(cudaMemcpy3D, &p);
	p.srcPtr.ysize = 0;
	TRY(cudaMemcpy3D, &p);
	p.dstPtr.ysize = 0;
	TRY(cudaMemcpy3D, &p);
	p.extent = (cudaExtent){8, 4, 0};
	TRY(cudaMemcpy3D, &p);
	p.extent = (cudaExtent){17, 0, 2};
	TRY(cudaMemcpy3D, &p);
	p.srcPtr.ptr = NULL;
	TRY(cudaMemcpy3D, &p);
	TRY(cudaMemcpy3DPeer, &q);
	TRY(cudaMemcpy3DPeerAsync, &q, NULL);
	q.dstDevice = 3;
	TRY(cudaMemcpy3DPeer, &q);
	TRY(cudaMemcpy3DPeer, NULL);
	TRY(cudaMemcpyPeer, d, 0, d + 512, 0, 16);
	TRY(cudaMemcpyPeer, d, 0, d + 512, 4, 16);
	TRY(cudaMemcpyPeer, d, 0, d + 512, 0, 0);
	TRY(cudaMemcpyPeerAsync, d, 0, d + 512, 0, 16, NULL);
	TRY(cudaMemcpyPeerAsync, d, -1, d + 512, 0, 16, NULL);
}

void parity_copy(void)
{
	char *d = NULL, h[1024];

	for (int i = 0; i < 1024; i++)
		h[i] = (char)i;
	TRY(cudaMalloc, (void **)&d, 4096);
	TRY(cudaMemset, d, 0, 4096);
	try_kinds(d, h);
	try_symbols(h);
	try_fills(d, h);
	try_slices(d, h);
	TRY(cudaMemcpy_ptds, d, h, 16, cudaMemcpyHostToDevice);
	TRY(cudaMemcpyAsync_ptsz, d, h, 16, cudaMemcpyHostToDevice, NULL);
	TRY(cudaMemset_ptds, d, 3, 16);
	TRY(cudaMemcpyToSymbol_ptds, &parity_offset, h, 4, 4, cudaMemcpyHostToDevice);
	TRY(cudaFree, d);
}
