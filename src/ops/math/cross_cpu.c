// CPU kernels of Cross.
#include "device/cpu/half.h"
#include "ops/family.h"

#define AS_IS(x) (x)
#define CROSS(name, type, value_type, load, save)                                         \
  static leat_status_t name(leat_kernel_context_t* c) {                                   \
    const leat_tensor_t* a = leat_kernel_input(c, 0);                                     \
    if (leat_shape_dim(&a->shape, a->shape.rank - 1) != 3) {                              \
      return leat_kernel_error(c, LEAT_FAILED_PRECONDITION,                               \
                               "a is %s, must have a last dimension of 3",                \
                               LEAT_SHAPE_TEXT(&a->shape));                               \
    }                                                                                     \
    leat_tensor_t* output;                                                                \
    LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &a->shape, &output));          \
    const type* u = a->data;                                                              \
    const type* v = leat_kernel_input(c, 1)->data;                                        \
    type* z = output->data;                                                               \
    for (int64_t i = 0; i < a->shape.element_count; i += 3) {                             \
      for (int j = 0; j < 3; ++j) {                                                       \
        const int64_t k = i + (j + 1) % 3, l = i + (j + 2) % 3;                           \
        const value_type left = (value_type)load(u[k]) * (value_type)load(v[l]);          \
        const value_type right = (value_type)load(u[l]) * (value_type)load(v[k]);         \
        z[i + j] = (type)save(left - right);                                              \
      }                                                                                   \
    }                                                                                     \
    return leat_ok_status();                                                              \
  }
CROSS(cross_half__cpu, uint16_t, float, leat_half_to_float, leat_half_from_float)
CROSS(cross_bfloat16__cpu, uint16_t, float, leat_bfloat16_to_float, leat_bfloat16_from_float)
CROSS(cross_float__cpu, float, float, AS_IS, AS_IS)
CROSS(cross_double__cpu, double, double, AS_IS, AS_IS)
CROSS(cross_int8__cpu, int8_t, uint32_t, AS_IS, AS_IS)
CROSS(cross_int16__cpu, int16_t, uint32_t, AS_IS, AS_IS)
CROSS(cross_int32__cpu, int32_t, uint32_t, AS_IS, AS_IS)
CROSS(cross_int64__cpu, int64_t, uint64_t, AS_IS, AS_IS)
CROSS(cross_uint8__cpu, uint8_t, uint32_t, AS_IS, AS_IS)
CROSS(cross_uint16__cpu, uint16_t, uint32_t, AS_IS, AS_IS)
CROSS(cross_uint32__cpu, uint32_t, uint32_t, AS_IS, AS_IS)
CROSS(cross_uint64__cpu, uint64_t, uint64_t, AS_IS, AS_IS)

#define ROW(type) \
  {.op = "Cross", .device_type = "CPU", .constraints = "T: " #type, .compute = cross_##type##__cpu}

const leat_kernel_row_t leat_cross_kernels_cpu[] = {
    ROW(half),  ROW(bfloat16), ROW(float), ROW(double), ROW(int8),   ROW(int16),
    ROW(int32), ROW(int64),    ROW(uint8), ROW(uint16), ROW(uint32), ROW(uint64),
    LEAT_KERNEL_ROWS_END,
};
