/* Textures and surfaces in a test file: name=tex.GEOMETRY[.WORD...]:TYPE[xCHANNELS]:SIZE[xSIZE...]:VALUES */
#include "ptx/interp/texture/texture.h"
#include "spec.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool parse_geometry(const char *word, const unsigned size[3], struct image *i)
{
	bool layered = word[0] == 'a';

	i->cube = !strcmp(word, "cube");
	i->dims = i->cube ? 2 : (unsigned)atoi(word + layered);
	if (i->dims < 1 || i->dims > (layered ? 2u : 3u))
		return false;
	i->width = size[0];
	i->height = i->dims > 1 ? size[1] : 0;
	i->depth = i->dims > 2 ? size[2] : 0;
	i->layers = i->cube ? 6 : layered ? size[i->dims] : 0;
	return true;
}

static bool parse_word(const char *word, struct image *i)
{
	if (!strcmp(word, "linear"))
		return i->linear = true;
	if (!strcmp(word, "normalized"))
		return i->normalized = true;
	if (!strcmp(word, "float"))
		return i->as_float = true;
	if (!strcmp(word, "gather"))
		return i->gather = true;
	if (!strcmp(word, "memory"))
		return i->memory = true;
	if (!strcmp(word, "wrap"))
		return (i->address = TEX_WRAP), true;
	if (!strcmp(word, "border"))
		return (i->address = TEX_BORDER), true;
	return sscanf(word, "mip%u", &i->levels) == 1 && i->levels >= 1 && i->levels <= TEX_MAX_LEVELS;
}

static bool parse_words(char *words, const unsigned size[3], struct image *i)
{
	char *rest = NULL, *word = strtok_r(words, ".", &rest);

	i->surface = word && !strcmp(word, "surf");
	i->levels = i->channels = 1;
	i->address = TEX_CLAMP;
	word = strtok_r(NULL, ".", &rest);
	if (!word || !parse_geometry(word, size, i))
		return false;
	while ((word = strtok_r(NULL, ".", &rest)))
		if (!parse_word(word, i))
			return false;
	return !i->memory || (i->dims == 1 && !i->layers && i->levels == 1 && !i->surface);
}

static bool sizes_fit(const struct argument *a)
{
	const struct image *i = &a->image;
	struct extent last;

	if (!i->width || i->width > MAX_VALUES || i->height > MAX_VALUES || i->depth > MAX_VALUES ||
		i->layers > MAX_VALUES || (i->dims > 1 && !i->height) || (i->dims > 2 && !i->depth) ||
		(i->channels != 1 && i->channels != 2 && i->channels != 4))
		return false;
	last = image_level(a, i->levels - 1);
	return image_format(a) && last.offset + last.bytes == (size_t)a->v.n * a->v.size;
}

const char *spec_image(const char *p, struct argument *a)
{
	unsigned size[3] = {0}, channels = 1;
	char words[64], type[8];
	int n = 0, used;

	if (sscanf(p, "%15[a-z0-9_]=%63[a-z0-9.]:%7[a-z0-9]:%n", a->v.name, words, type, &n) != 3 || !n)
		return NULL;
	p += n;
	for (int k = 0; k < 3; k++) {
		if (sscanf(p, "%u%n", &size[k], &used) != 1)
			return NULL;
		p += used;
		if (*p != 'x')
			break;
		p++;
	}
	sscanf(type, "%7[a-wyz0-9]x%u", a->v.type, &channels);
	a->v.size = spec_type_size(a->v.type);
	if (*p != ':' || !parse_words(words, size, &a->image))
		return NULL;
	a->image.channels = channels;
	p = spec_list(p + 1, &a->v);
	return p && sizes_fit(a) ? p : NULL;
}

unsigned image_format(const struct argument *a)
{
	static const struct {
		const char *type;
		unsigned format;
	} names[] = {{"u8", TEX_U8}, {"b8", TEX_U8}, {"u16", TEX_U16}, {"b16", TEX_U16}, {"u32", TEX_U32},
		{"b32", TEX_U32}, {"s8", TEX_S8}, {"s16", TEX_S16}, {"s32", TEX_S32}, {"f16", TEX_F16},
		{"f32", TEX_F32}};

	for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
		if (!strcmp(a->v.type, names[i].type))
			return names[i].format;
	return 0;
}

static unsigned halved(unsigned n, unsigned level)
{
	return n >> level ? n >> level : 1;
}

struct extent image_level(const struct argument *a, unsigned level)
{
	const struct image *i = &a->image;
	struct extent e = {.offset = 0};

	for (unsigned l = 0; l <= level; l++) {
		e.offset += e.bytes;
		e.width = halved(i->width, l);
		e.height = halved(i->height, l);
		e.slices = i->layers ? i->layers : halved(i->depth, l);
		e.pitch = (size_t)e.width * i->channels * a->v.size;
		e.bytes = e.pitch * e.height * e.slices;
	}
	return e;
}
