#include "cuda/per_thread.h"

__thread int per_thread_default;
