// picture [-o FILE.png] [-s SECONDS]: draws mirrored spheres by tracing rays on the CUDA device, shows the picture in the
// terminal and writes it as a PNG. With -s the spheres orbit until the time is over. An ordinary CUDA program: runtime API,
// static cudart. It knows nothing of Gangway.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <unistd.h>

const int width = 640, height = 360, samples = 2, bounces = 3, spheres = 7;

struct Sphere {
	float3 centre, colour;
	float radius, mirror;
};

__constant__ Sphere scene[spheres];

__host__ __device__ float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
__host__ __device__ float3 operator-(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
__host__ __device__ float3 operator*(float3 a, float s) { return make_float3(a.x * s, a.y * s, a.z * s); }
__host__ __device__ float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ float3 unit(float3 a) { return a * rsqrtf(dot(a, a)); }

struct Hit {
	float distance;
	float3 point, normal, colour;
	float mirror;
};

// Nearest sphere or floor along the ray; false: the ray leaves the scene.
__device__ bool trace(float3 from, float3 direction, Hit *hit)
{
	int nearest = -1;

	hit->distance = 1e9f;
	for (int i = 0; i < spheres; i++) {
		float3 to = scene[i].centre - from;
		float along = dot(to, direction), inside = along * along - dot(to, to) + scene[i].radius * scene[i].radius;
		float distance = inside > 0 ? along - sqrtf(inside) : -1;
		if (distance > 1e-3f && distance < hit->distance) {
			hit->distance = distance;
			nearest = i;
		}
	}
	float floor_distance = direction.y < -1e-3f ? -from.y / direction.y : 1e9f;
	if (floor_distance < fminf(hit->distance, 60)) {
		hit->distance = floor_distance;
		hit->point = from + direction * floor_distance;
		hit->normal = make_float3(0, 1, 0);
		bool dark = ((int)floorf(hit->point.x) + (int)floorf(hit->point.z)) & 1;
		hit->colour = dark ? make_float3(.15f, .17f, .22f) : make_float3(.85f, .83f, .78f);
		hit->mirror = .15f;
		return true;
	}
	if (nearest < 0)
		return false;
	hit->point = from + direction * hit->distance;
	hit->normal = (hit->point - scene[nearest].centre) * (1 / scene[nearest].radius);
	hit->colour = scene[nearest].colour;
	hit->mirror = scene[nearest].mirror;
	return true;
}

__device__ float3 shade(float3 from, float3 direction)
{
	const float3 light = unit(make_float3(-3, 6, -4));
	float3 colour = make_float3(0, 0, 0);
	float weight = 1;

	for (int i = 0; i <= bounces; i++) {
		Hit hit, shadow;
		if (!trace(from, direction, &hit)) {
			float up = fmaxf(direction.y, 0);
			return colour + (make_float3(.95f, .75f, .55f) * (1 - up) + make_float3(.25f, .45f, .85f) * up) * weight;
		}
		from = hit.point + hit.normal * 1e-3f;
		float lit = trace(from, light, &shadow) ? .2f : .2f + .8f * fmaxf(dot(hit.normal, light), 0);
		colour = colour + hit.colour * (weight * (1 - hit.mirror) * lit);
		weight *= hit.mirror;
		direction = direction - hit.normal * (2 * dot(direction, hit.normal));
	}
	return colour;
}

__global__ void draw(uchar4 *pixels)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	float3 colour = make_float3(0, 0, 0);

	if (x >= width || y >= height)
		return;
	for (int i = 0; i < samples * samples; i++) {
		float u = (x + (i % samples + .5f) / samples - width / 2) / height;
		float v = (height / 2 - y - (i / samples + .5f) / samples) / height;
		colour = colour + shade(make_float3(0, 1.6f, -6), unit(make_float3(u, v - .12f, 1)));
	}
	colour = colour * (1.f / (samples * samples));
	pixels[y * width + x] = make_uchar4(255 * sqrtf(__saturatef(colour.x)), 255 * sqrtf(__saturatef(colour.y)),
		255 * sqrtf(__saturatef(colour.z)), 255);
}

static void place(Sphere *s, float turn)
{
	s[0] = {make_float3(0, 1.1f, 0), make_float3(.9f, .9f, .95f), 1.1f, .75f};
	for (int i = 1; i < spheres; i++) {
		float angle = turn + i * 6.2831853f / (spheres - 1), hue = i * 6.2831853f / (spheres - 1);
		s[i] = {make_float3(2.2f * cosf(angle), .55f, 2.2f * sinf(angle)),
			make_float3(.5f + .45f * cosf(hue), .5f + .45f * cosf(hue - 2.1f), .5f + .45f * cosf(hue + 2.1f)), .55f, .25f};
	}
}

// Two pixels in each character cell, in 24-bit colour; plain characters where the output is no terminal.
static void show(const std::vector<uchar4> &pixels)
{
	const bool terminal = isatty(1), again = terminal;
	const int columns = 80, rows = terminal ? 45 : 22;
	static bool shown;

	if (shown && again)
		printf("\033[%dA", (rows + 1) / 2);
	shown = true;
	for (int row = 0; row < rows; row += terminal ? 2 : 1) {
		for (int column = 0; column < columns; column++) {
			const uchar4 *above = &pixels[row * height / rows * width + column * width / columns];
			const uchar4 *below = &pixels[std::min((row + 1) * height / rows, height - 1) * width + column * width / columns];
			if (terminal)
				printf("\033[38;2;%d;%d;%d;48;2;%d;%d;%dm▀", above->x, above->y, above->z, below->x, below->y, below->z);
			else
				putchar(" .:-=+*#%@"[(above->x + 2 * above->y + above->z) * 10 / 1024]);
		}
		printf(terminal ? "\033[0m\n" : "\n");
	}
	fflush(stdout);
}

static uint32_t crc(const unsigned char *data, size_t n, uint32_t c = 0xffffffff)
{
	for (size_t i = 0; i < n; i++) {
		c ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			c = c & 1 ? c >> 1 ^ 0xedb88320 : c >> 1;
	}
	return c;
}

static void big(std::vector<unsigned char> *out, uint32_t value)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		out->push_back(value >> shift);
}

static void chunk(FILE *f, const char *name, const std::vector<unsigned char> &data)
{
	std::vector<unsigned char> all;

	big(&all, data.size());
	all.insert(all.end(), name, name + 4);
	all.insert(all.end(), data.begin(), data.end());
	big(&all, ~crc(&all[4], all.size() - 4));
	fwrite(all.data(), 1, all.size(), f);
}

// A PNG whose rows are stored, not compressed: one deflate block for each row.
static bool write_png(const char *path, const std::vector<uchar4> &pixels)
{
	const size_t row = 1 + 3 * width;
	std::vector<unsigned char> head, data = {0x78, 0x01};
	uint32_t a = 1, b = 0;
	FILE *f = fopen(path, "wb");

	if (!f)
		return false;
	big(&head, width);
	big(&head, height);
	head.insert(head.end(), {8, 2, 0, 0, 0});
	for (int y = 0; y < height; y++) {
		data.insert(data.end(), {(unsigned char)(y == height - 1), (unsigned char)row, (unsigned char)(row >> 8),
						(unsigned char)~row, (unsigned char)(~row >> 8), 0});
		for (int x = 0; x < width; x++)
			data.insert(data.end(), &pixels[y * width + x].x, &pixels[y * width + x].x + 3);
		for (size_t i = data.size() - row; i < data.size(); i++) {
			a = (a + data[i]) % 65521;
			b = (b + a) % 65521;
		}
	}
	big(&data, b << 16 | a);
	fwrite("\211PNG\r\n\032\n", 1, 8, f);
	chunk(f, "IHDR", head);
	chunk(f, "IDAT", data);
	chunk(f, "IEND", {});
	return !fclose(f);
}

static void must(cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
	exit(1);
}
#define MUST(call) must(call, #call)

int main(int argc, char **argv)
{
	const char *file = nullptr;
	double seconds = 0, spent = 0;
	int frames = 0;
	Sphere placed[spheres];
	std::vector<uchar4> pixels(width * height);
	uchar4 *device;
	cudaDeviceProp prop;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "-o"))
			file = argv[i + 1];
		else if (!strcmp(argv[i], "-s"))
			seconds = atof(argv[i + 1]);
	}
	MUST(cudaGetDeviceProperties(&prop, 0));
	MUST(cudaMalloc(&device, pixels.size() * sizeof pixels[0]));
	do {
		auto start = std::chrono::steady_clock::now();
		place(placed, .3f + .12f * frames);
		MUST(cudaMemcpyToSymbol(scene, placed, sizeof placed));
		draw<<<dim3((width + 15) / 16, (height + 7) / 8), dim3(16, 8)>>>(device);
		MUST(cudaMemcpy(pixels.data(), device, pixels.size() * sizeof pixels[0], cudaMemcpyDeviceToHost));
		spent += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
		frames++;
		if (isatty(1))
			show(pixels);
	} while (spent < seconds);
	if (!isatty(1))
		show(pixels);
	printf("%dx%d pixels on %s, %.0f ms a picture\n", width, height, prop.name, 1000 * spent / frames);
	if (file && !write_png(file, pixels)) {
		perror(file);
		return 1;
	}
	MUST(cudaFree(device));
	return 0;
}
