/* What the device must be for Ollama: of a compute capability that it was built for. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cli/doctor/doctor.h"
#include "cli/doctor/ollama/ollama.h"
#include "image/image.h"

struct architectures {
	unsigned want; /* 80 */
	bool found;
	unsigned ptx[64], n; /* those that have text: a processor may claim one of them */
};

static int look_for(void *arg, const struct image_span *fatbin)
{
	struct architectures *a = arg;
	struct image image;
	struct image_iter it;
	struct image_entry e;

	if (image_init(&image, fatbin->data, fatbin->size))
		return 0;
	for (image_iter_init(&it, &image, 0); image_next(&it, &e);) {
		a->found = a->found || e.sm == a->want;
		if (e.kind == IMAGE_ENTRY_PTX && a->n < 64 && (!a->n || a->ptx[a->n - 1] != e.sm))
			a->ptx[a->n++] = e.sm;
	}
	image_finish(&image);
	return 0;
}

/* The largest that has text, but no larger than what the processor can do. */
static unsigned best_ptx(const struct architectures *a)
{
	unsigned best = 0;

	for (unsigned i = 0; i < a->n; i++)
		if (a->ptx[i] > best && a->ptx[i] <= 90)
			best = a->ptx[i];
	return best;
}

static bool check_architecture(struct doctor *d, const char *backend)
{
	const struct device_fact *dev = &d->device.device[0];
	struct architectures a = {.want = (unsigned)(dev->major * 10 + dev->minor)};
	bool processor = !strncmp(dev->name, "Gangway CPU", 11);
	struct elf_object o;
	char value[16];
	int fd = sysroot_open(&d->sysroot, backend);

	if (fd < 0 || elf_object_open(&o, fd))
		return true;
	close(fd);
	image_objects(o.data, o.size, look_for, &a);
	elf_object_close(&o);
	if (a.found || (!a.n && !a.found))
		return true;
	struct finding *f = say(d, WRONG,
		"%s was not built for compute capability %d.%d, which %s has: Ollama passes over the device", backend,
		dev->major, dev->minor, d->device.chosen);
	snprintf(value, sizeof value, "%u.%u", best_ptx(&a) / 10, best_ptx(&a) % 10);
	if (processor && best_ptx(&a))
		ollama_set(d, f, "GANGWAY_CPU_CC", value);
	else
		fix(f, "curl -fsSL https://ollama.com/install.sh | sh  # a newer Ollama knows newer devices");
	return false;
}

static void check_device(struct doctor *d)
{
	const struct ollama *o = d->ollama;
	const struct device_fact *dev = &d->device.device[0];

	if (!d->asked || !d->device.opened || !d->device.count)
		return;
	if (o->generation == OLLAMA_A && dev->major < 5)
		fix(say(d, WRONG, "this Ollama wants compute capability 5.0, and %s has %d.%d", d->device.chosen,
			    dev->major, dev->minor),
			"gangway run --on cpu -- ollama serve");
	for (unsigned i = 0; i < o->nbackends && o->generation != OLLAMA_A; i++)
		if (check_architecture(d, o->backends[i]))
			return; /* one is enough */
}

void probe_ollama_device(struct doctor *d)
{
	if (d->ollama->nbackends)
		check_device(d);
	if (!doctor_is_wrong(d))
		say(d, FINE, "nothing that can be seen from here keeps Ollama from the device");
}
