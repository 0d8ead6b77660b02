// A float convolution prepared for one shape: the fastest way known for it (a oneDNN primitive,
// Winograd's algorithm, a matrix product, or the portable convolution), cut into shards for the
// pool. A kernel makes a plan for each shape that it meets and runs it once a step. Several steps
// may run it at once if each brings its own workspace.
//
// What was measured (one core, GFLOP/s on AVX-512 / AVX2, this library : oneDNN):
//   mnist_cnn, 64 x 28x28x1, 5x5x32   forward 32:135 / 30:114, filter gradient 31:140 / 27:82,
//                                     input gradient 25:12 / 25:13
//   mnist_cnn, 64 x 14x14x32, 5x5x64  forward 131:224 / 95:136, input 92:194 / 71:130,
//                                     filter 128:219 / 92:124
//   3x3 of 64..512 channels, stride 1, on a busy machine whose peak is 125, with a packed filter
//                                     32 images  260:215 / 260:95 (oneDNN: Winograd / direct)
//                                     1 image    370:118 / 320:113
// Therefore Winograd's algorithm (convolution_winograd.h) is chosen where it applies to enough
// positions, and oneDNN elsewhere, except for the input gradient of an image (fewer than 8
// channels), and where so few positions meet the filter that packing it costs more than it saves. A
// plan does not know whether its filter will change, so that a caller who packs a filter once gets
// the same algorithm, and the same bits, as one whose runs pack it.
#ifndef LEAT_DEVICE_CPU_CONVOLUTION_PLAN_H_
#define LEAT_DEVICE_CPU_CONVOLUTION_PLAN_H_

#include "device/cpu/convolution.h"

typedef struct leat_convolution_plan_s leat_convolution_plan_t;

typedef enum leat_convolution_flags_e {
  // FORWARD: runs have a step with a bias, which oneDNN adds where it serves.
  LEAT_CONVOLUTION_BIAS = 1,
  // FORWARD: runs have a step that does more than to add a bias.
  LEAT_CONVOLUTION_STEP = 2,
  // The bits of the result depend neither on the number of threads nor on oneDNN.
  LEAT_CONVOLUTION_DETERMINISTIC = 4,
} leat_convolution_flags_t;

// Makes a plan. |shape| must be valid (leat_convolution_is_valid). |width| is the number of threads
// that will share a run, the size of the pool. The plan lives in |allocator|.
LEAT_MUST_USE leat_status_t leat_convolution_plan_create(leat_convolution_direction_t direction,
                                                         const leat_convolution_shape_t* shape,
                                                         int flags, int width,
                                                         leat_allocator_t* allocator,
                                                         leat_convolution_plan_t** out_plan);
void leat_convolution_plan_destroy(leat_convolution_plan_t* plan);  // NULL is allowed

// The bytes of the 64-byte aligned workspace that each run needs.
size_t leat_convolution_plan_workspace_bytes(const leat_convolution_plan_t* plan);
// "oneDNN jit:avx512_core", "winograd", "gemm" or "portable"; the plan owns the text.
const char* leat_convolution_plan_name(const leat_convolution_plan_t* plan);

// The bytes of the filter in the layout that the plan's code wants, for all parts of the plan; 0
// when the code takes the filter as it is, and where the plan computes the gradient of the filter.
size_t leat_convolution_plan_packed_bytes(const leat_convolution_plan_t* plan);
// Packs |filter| into |packed|, which has that many bytes and is 64-byte aligned. |workspace| is
// one that a run could have. Fails only when oneDNN does.
LEAT_MUST_USE leat_status_t leat_convolution_plan_pack(const leat_convolution_plan_t* plan,
                                                       const float* filter, void* workspace,
                                                       void* packed);

// Runs the plan; |first|, |second| and |result| are those of leat_convolution_direction_t. |packed|
// is the filter as leat_convolution_plan_pack packed it, and then the plain filter is not read;
// NULL: the run packs the filter. The result has the same bits either way. |step| follows the
// convolution, and is NULL for a plan with neither LEAT_CONVOLUTION_BIAS nor LEAT_CONVOLUTION_STEP.
// |pool| has at most |width| threads, or is NULL. Fails only when oneDNN does.
LEAT_MUST_USE leat_status_t leat_convolution_plan_run(const leat_convolution_plan_t* plan,
                                                      const float* first, const float* second,
                                                      const void* packed,
                                                      const leat_row_step_t* step, float* result,
                                                      void* workspace, leat_thread_pool_t* pool);

#endif  // LEAT_DEVICE_CPU_CONVOLUTION_PLAN_H_
