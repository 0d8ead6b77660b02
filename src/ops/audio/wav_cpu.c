// CPU kernels of DecodeWav and EncodeWav. The file format is read and written by
// formats/media/wav.h; the kernels fit the samples to the shape that the node asks for.
#include "base/checked.h"
#include "formats/media/wav.h"
#include "ops/kernel_rows.h"

typedef struct wanted_s {
  int64_t channels, frames;  // -1: as many as the file has
} wanted_t;

static leat_status_t decode_create(leat_kernel_creation_t* c, void* state) {
  wanted_t* wanted = state;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "desired_channels", &wanted->channels));
  return leat_kernel_attr_int(c, "desired_samples", &wanted->frames);
}

// Copies samples to |to| [frames, channels], which is zero. Frames after the file's last one stay
// silent; channels after its last one repeat that one.
static void copy_samples(const leat_wav_t* wav, int64_t frames, int64_t channels, float* to) {
  for (int64_t i = 0; i < LEAT_MIN(frames, wav->frame_count); ++i) {
    for (int64_t k = 0; k < channels; ++k) {
      *to++ = leat_wav_sample(wav, i, LEAT_MIN(k, wav->channel_count - 1));
    }
  }
}

static leat_status_t decode__cpu(leat_kernel_context_t* c) {
  const wanted_t* wanted = leat_kernel_state(c);
  const leat_tensor_t* contents = leat_kernel_input(c, 0);
  leat_wav_t wav;
  leat_tensor_t *audio, *rate;
  LEAT_RETURN_IF_ERROR(leat_wav_decode(leat_tensor_string_at(contents, 0), &wav));
  int64_t frames = wanted->frames < 0 ? wav.frame_count : wanted->frames;
  int64_t channels = wanted->channels < 0 ? wav.channel_count : wanted->channels;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, 2, (int64_t[]){frames, channels}, &audio));
  leat_shape_t scalar = leat_shape_scalar();
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 1, &scalar, &rate));
  leat_tensor_fill_zero(audio);
  copy_samples(&wav, frames, channels, leat_tensor_data(audio, float));
  *leat_tensor_data(rate, int32_t) = (int32_t)wav.frames_per_second;
  return leat_ok_status();
}

static leat_status_t encode__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t *audio = leat_kernel_input(c, 0), *rate = leat_kernel_input(c, 1);
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* contents;
  leat_string_builder_t file;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &contents));
  leat_string_builder_initialize(leat_allocator_system(), &file);
  leat_status_t status = leat_wav_encode(audio->data, leat_shape_dim(&audio->shape, 0),
                                         leat_shape_dim(&audio->shape, 1),
                                         (uint64_t)*leat_tensor_data(rate, const int32_t), &file);
  if (!status) status = leat_tensor_set_string(contents, 0, leat_string_builder_view(&file));
  leat_string_builder_deinitialize(&file);
  return status;
}

const leat_kernel_row_t leat_wav_kernels_cpu[] = {
    LEAT_CPU_KERNEL("DecodeWav", NULL, wanted_t, decode_create, decode__cpu),
    {.op = "EncodeWav", .device_type = "CPU", .compute = encode__cpu},
    LEAT_KERNEL_ROWS_END,
};
