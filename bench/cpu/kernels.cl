/* The kernels in OpenCL. Sums of a work-group go through local memory: OpenCL 1.2 has no shuffles. */
#pragma OPENCL FP_CONTRACT ON

kernel void vector_add(global const float *a, global const float *b, global float *c, int n)
{
	int i = get_global_id(0);

	if (i < n)
		c[i] = a[i] + b[i];
}

kernel void sgemm(global const float *a, global const float *b, global float *c, int n)
{
	local float as[16][16], bs[16][16];
	int tx = get_local_id(0), ty = get_local_id(1), x = get_global_id(0), y = get_global_id(1);
	float sum = 0;

	for (int t = 0; t < n; t += 16) {
		as[ty][tx] = a[y * n + t + tx];
		bs[ty][tx] = b[(t + ty) * n + x];
		barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
		for (int k = 0; k < 16; k++)
			sum += as[ty][k] * bs[k][tx];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	c[y * n + x] = sum;
}

/* For work-groups of 256; every work-item gets the result. */
float group_sum(float v, local float *part)
{
	int t = get_local_id(0);

	barrier(CLK_LOCAL_MEM_FENCE);
	part[t] = v;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int d = 128; d; d /= 2) {
		if (t < d)
			part[t] += part[t + d];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	return part[0];
}

float group_max(float v, local float *part)
{
	int t = get_local_id(0);

	barrier(CLK_LOCAL_MEM_FENCE);
	part[t] = v;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int d = 128; d; d /= 2) {
		if (t < d)
			part[t] = fmax(part[t], part[t + d]);
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	return part[0];
}

kernel void reduce(global const float *a, global float *parts, global float *out, int n, int blocks)
{
	local float part[256];
	float sum = 0;

	for (int i = get_global_id(0); i < n; i += get_global_size(0))
		sum += a[i];
	sum = group_sum(sum, part);
	if (get_local_id(0) == 0)
		parts[get_group_id(0)] = sum;
}

kernel void reduce_parts(global const float *a, global const float *parts, global float *out, int n, int blocks)
{
	local float part[256];
	float sum = 0;

	for (int i = get_local_id(0); i < blocks; i += 256)
		sum += parts[i];
	sum = group_sum(sum, part);
	if (get_local_id(0) == 0)
		out[0] = sum;
}

uint group_scan(uint v, uint *total, local uint *part)
{
	int t = get_local_id(0);

	barrier(CLK_LOCAL_MEM_FENCE);
	part[t] = v;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int d = 1; d < 256; d *= 2) {
		uint o = t >= d ? part[t - d] : 0;

		barrier(CLK_LOCAL_MEM_FENCE);
		part[t] += o;
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	*total = part[255];
	return part[t];
}

kernel void scan_blocks(global const uint *a, global uint *out, global uint *sums, int n, int blocks)
{
	local uint part[256];
	int at = get_group_id(0) * 1024 + get_local_id(0) * 4;
	uint v[4], total, before;

	for (int k = 0; k < 4; k++)
		v[k] = (at + k < n ? a[at + k] : 0) + (k ? v[k - 1] : 0);
	before = group_scan(v[3], &total, part) - v[3];
	for (int k = 0; k < 4; k++)
		if (at + k < n)
			out[at + k] = before + v[k];
	if (get_local_id(0) == 0)
		sums[get_group_id(0)] = total;
}

kernel void scan_sums(global const uint *a, global uint *out, global uint *sums, int n, int blocks)
{
	local uint part[256];
	uint carry = 0, total;

	for (int from = 0; from < blocks; from += 256) {
		int i = from + get_local_id(0);
		uint v = i < blocks ? sums[i] : 0, s = group_scan(v, &total, part);

		if (i < blocks)
			sums[i] = carry + s - v;
		carry += total;
	}
}

kernel void scan_add(global const uint *a, global uint *out, global const uint *sums, int n, int blocks)
{
	int at = get_group_id(0) * 1024 + get_local_id(0);

	for (int k = 0; k < 4; k++)
		if (at + 256 * k < n)
			out[at + 256 * k] += sums[get_group_id(0)];
}

kernel void nbody(global const float4 *p, global float4 *out, int n)
{
	local float4 tile[256];
	int i = get_global_id(0);
	float4 me = p[i];
	float ax = 0, ay = 0, az = 0;

	for (int t = 0; t < n; t += 256) {
		tile[get_local_id(0)] = p[t + get_local_id(0)];
		barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 4
		for (int j = 0; j < 256; j++) {
			float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
			float d = native_rsqrt(dx * dx + dy * dy + dz * dz + 1e-3f), s = tile[j].w * d * d * d;

			ax += dx * s, ay += dy * s, az += dz * s;
		}
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	out[i] = (float4)(ax, ay, az, 0);
}

float normal_cdf(float d)
{
	float k = 1 / (1 + 0.2316419f * fabs(d));
	float c = 0.3989422804f * native_exp(-0.5f * d * d) *
		  (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));

	return d > 0 ? 1 - c : c;
}

kernel void black_scholes(
	global const float *s0, global const float *x0, global const float *t0, global float *out, int n)
{
	int i = get_global_id(0);

	if (i >= n)
		return;
	float s = 5 + 25 * s0[i], x = 1 + 99 * x0[i], t = 0.25f + 9.75f * t0[i], v = 0.3f * sqrt(t);
	float d1 = (native_log(s / x) + (0.02f + 0.045f) * t) / v, d2 = d1 - v, e = x * native_exp(-0.02f * t);

	out[i] = s * normal_cdf(d1) - e * normal_cdf(d2);
	out[n + i] = e * (1 - normal_cdf(d2)) - s * (1 - normal_cdf(d1));
}

kernel void histogram(global const uint *a, global uint *out, int n)
{
	local uint bins[256];
	int t = get_local_id(0), from = get_group_id(0) * 8192, to = min(from + 8192, n);

	bins[t] = 0;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int i = from + t; i < to; i += 256)
		atomic_add(&bins[a[i] >> 24], 1);
	barrier(CLK_LOCAL_MEM_FENCE);
	atomic_add(&out[t], bins[t]);
}

kernel void bitonic(global uint *a, int n, int size, int distance)
{
	int i = get_global_id(0), o = i ^ distance;

	if (o > i && (a[i] > a[o]) == ((i & size) == 0)) {
		uint t = a[i];

		a[i] = a[o];
		a[o] = t;
	}
}

kernel void stencil(global const float *a, global float *out, int n)
{
	int x = get_global_id(0), y = get_global_id(1), i = y * n + x;

	if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
		out[i] = 0.5f * a[i] + 0.125f * (a[i - 1] + a[i + 1] + a[i - n] + a[i + n]);
}

kernel void gather(global const float *a, global const uint *index, global float *out, int n)
{
	int i = get_global_id(0);

	if (i < n)
		out[i] = a[index[i]] * 2;
}

kernel void collatz(global uint *out, int n)
{
	uint i = get_global_id(0), v = i + 1, steps = 0;

	if (i >= n)
		return;
	while (v != 1) {
		v = v & 1 ? 3 * v + 1 : v / 2;
		steps++;
	}
	out[i] = steps;
}

kernel void spmv(global const uint *rows, global const uint *columns, global const float *values, global const float *x,
	global float *y, int n)
{
	int i = get_global_id(0);
	float sum = 0;

	if (i >= n)
		return;
	for (uint k = rows[i]; k < rows[i + 1]; k++)
		sum += values[k] * x[columns[k]];
	y[i] = sum;
}

/* 32 work-items for a tile of 16 x 16: each makes a row of 8 elements. */
kernel void half_gemm(global const half *a, global const half *b, global float *c, int n)
{
	int t = get_local_id(0), x = get_group_id(0) * 16 + t % 2 * 8, y = get_group_id(1) * 16 + t / 2;
	float8 sum = 0;

	for (int k = 0; k < n; k++)
		sum += vload_half(y * n + k, a) * vload_half8(0, b + k * n + x);
	vstore8(sum, 0, c + y * n + x);
}

kernel void softmax(global const float *a, global float *out, int n)
{
	local float part[256];
	int t = get_local_id(0), row = get_group_id(0) * 1024;
	float v[4], top = -3.4e38f, sum = 0;

	for (int k = 0; k < 4; k++)
		top = fmax(top, v[k] = a[row + t + 256 * k]);
	top = group_max(top, part);
	for (int k = 0; k < 4; k++)
		sum += v[k] = native_exp(v[k] - top);
	sum = group_sum(sum, part);
	for (int k = 0; k < 4; k++)
		out[row + t + 256 * k] = v[k] / sum;
}

kernel void layer_norm(global const float *a, global float *out, int n)
{
	local float part[256];
	int t = get_local_id(0), row = get_group_id(0) * 1024;
	float v[4], sum = 0, square = 0, mean, scale;

	for (int k = 0; k < 4; k++)
		sum += v[k] = a[row + t + 256 * k];
	mean = group_sum(sum, part) / 1024;
	for (int k = 0; k < 4; k++)
		square += (v[k] - mean) * (v[k] - mean);
	scale = native_rsqrt(group_sum(square, part) / 1024 + 1e-5f);
	for (int k = 0; k < 4; k++)
		out[row + t + 256 * k] = (v[k] - mean) * scale;
}

/* The number of iterations must be the same everywhere: no fused operations from here on. */
#pragma OPENCL FP_CONTRACT OFF

kernel void mandelbrot(global uint *out, int n)
{
	int x = get_global_id(0), y = get_global_id(1), i;
	float cr = -2.0f + x * (2.5f / n), ci = -1.25f + y * (2.5f / n), r = 0, m = 0;

	for (i = 0; i < 256; i++) {
		float r2 = r * r, m2 = m * m;

		if (r2 + m2 > 4)
			break;
		m = 2 * r * m + ci;
		r = r2 - m2 + cr;
	}
	out[y * n + x] = i;
}
