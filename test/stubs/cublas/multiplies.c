/* A library between a program and cuBLAS. */
int multiplies(void);

int cublasCreate_v2(void **handle), cublasDestroy_v2(void *handle);
void cublasSgemm_v2(void);

void (*const used[])(void) = {cublasSgemm_v2};

int multiplies(void)
{
	void *handle;
	int status = cublasCreate_v2(&handle);

	return status ? status : cublasDestroy_v2(handle);
}
