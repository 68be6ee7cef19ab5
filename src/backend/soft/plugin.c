/* The symbol that libcuda.so.1 looks up in libgangway-soft.so: the list of its backends. */
#include "backend/plugin.h"
#include "util/build_note.h"

extern const struct backend null_backend, cpu_backend;

static const struct backend *const backends[] = {&cpu_backend, &null_backend, NULL};

extern const struct plugin gangway_plugin;
__attribute__((visibility("default"))) const struct plugin gangway_plugin = {build_note_text, backends};
