/* The image hash is BLAKE2b: checks the RFC's test vector, other lengths, and input in parts of any size. */
#include <stdlib.h>
#include <string.h>
#include "test/check.h"
#include "util/hash.h"

static void hex(const uint8_t *b, unsigned n, char *out)
{
	for (unsigned i = 0; i < n; i++)
		sprintf(out + 2 * i, "%02x", b[i]);
}

static void is(const void *data, size_t size, unsigned bytes, const char *want)
{
	struct hash s;
	uint8_t b[64];
	char text[129];

	hash_init(&s, bytes);
	hash_add(&s, data, size);
	hash_finish(&s, b);
	hex(b, bytes, text);
	if (strcmp(text, want)) {
		fprintf(stderr, "%zu bytes: %s, not %s\n", size, text, want);
		failures++;
	}
}

/* The self-test of RFC 7693, appendix E, without keys: a hash over hashes of many lengths. */
static void sequence(uint8_t *out, size_t n, uint32_t seed)
{
	uint32_t a = 0xDEAD4BAD * seed, b = 1;

	for (size_t i = 0; i < n; i++) {
		uint32_t t = a + b;
		a = b;
		b = t;
		out[i] = t >> 24;
	}
}

static void appendix_e(void)
{
	static const size_t sizes[] = {0, 3, 128, 129, 255, 1024};
	static const unsigned lengths[] = {20, 32, 48, 64};
	uint8_t in[1024], md[64];
	struct hash all, one;
	char text[65];

	hash_init(&all, 32);
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 6; j++) {
			sequence(in, sizes[j], sizes[j]);
			hash_init(&one, lengths[i]);
			hash_add(&one, in, sizes[j]);
			hash_finish(&one, md);
			hash_add(&all, md, lengths[i]);
		}
	hash_finish(&all, md);
	hex(md, 32, text);
	CHECK(!strcmp(text, "681f345ad53c6360214ea500fd259edddbca775f605fad81b9b189d6d88e15c6"));
}

static void pieces(void)
{
	uint8_t data[1000], whole[HASH_BYTES], parts[HASH_BYTES];
	struct hash s;

	sequence(data, sizeof data, 7);
	hash_of(data, sizeof data, whole);
	for (size_t step = 1; step < 300; step += 13) {
		hash_init(&s, HASH_BYTES);
		for (size_t i = 0; i < sizeof data; i += step)
			hash_add(&s, data + i, sizeof data - i < step ? sizeof data - i : step);
		hash_finish(&s, parts);
		CHECK(!memcmp(whole, parts, sizeof whole));
	}
}

int main(void)
{
	is("abc", 3, 64,
		"ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
		"7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923");
	is("", 0, 32, "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
	is("abc", 3, 32, "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
	appendix_e();
	pieces();
	return RESULT();
}
