"""Taichi: a field and a reduction, compared with numpy."""
import numpy as np
import taichi as ti
from report import check, finish

ti.init(arch=ti.cuda, offline_cache=False)
field = ti.field(ti.f32, 1000)


@ti.kernel
def fill() -> ti.f32:
    sum = 0.0
    for i in field:
        field[i] = ti.sin(i * 1.0)
        sum += field[i]
    return sum


want = np.sin(np.arange(1000, dtype=np.float32))
sum = fill()
check("device", lambda: ti.lang.impl.current_cfg().arch == ti.cuda)
check("field", lambda: np.allclose(field.to_numpy(), want, atol=1e-4))
check("sum", lambda: abs(sum - want.sum()) < 1e-2)
finish()
