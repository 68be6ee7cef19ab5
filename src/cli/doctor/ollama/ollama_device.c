/* Check that Ollama's CUDA backend was built for the device's compute capability. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cli/doctor/doctor.h"
#include "cli/doctor/ollama/ollama.h"
#include "image/image.h"

struct architectures {
	unsigned want; /* 10 * major + minor */
	bool found;
	unsigned ptx[64], n; /* those with PTX; the CPU device can be set to one of them */
};

static int scan_fatbin(void *arg, const struct image_span *fatbin)
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

/* The highest architecture with PTX that the CPU device supports. */
static unsigned best_ptx_architecture(const struct architectures *a)
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
	image_objects(o.data, o.size, scan_fatbin, &a);
	elf_object_close(&o);
	if (a.found || (!a.n && !a.found))
		return true;
	struct finding *f = finding_add(d, STATUS_WRONG,
		"%s was not built for compute capability %d.%d of %s, so Ollama ignores the device", backend,
		dev->major, dev->minor, d->device.chosen);
	snprintf(value, sizeof value, "%u.%u", best_ptx_architecture(&a) / 10, best_ptx_architecture(&a) % 10);
	if (processor && best_ptx_architecture(&a))
		ollama_fix_variable(d, f, "GANGWAY_CPU_CC", value);
	else
		finding_fix(
			f, "curl -fsSL https://ollama.com/install.sh | sh  # a newer Ollama supports newer devices");
	return false;
}

static void check_device(struct doctor *d)
{
	const struct ollama *o = d->ollama;
	const struct device_fact *dev = &d->device.device[0];

	if (!d->device_known || !d->device.opened || !d->device.count)
		return;
	if (o->generation == OLLAMA_A && dev->major < 5)
		finding_fix(finding_add(d, STATUS_WRONG, "this Ollama needs compute capability 5.0, but %s has %d.%d",
				    d->device.chosen, dev->major, dev->minor),
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
		finding_add(d, STATUS_FINE, "Ollama can use the device, as far as doctor can tell");
}
