// CPU kernels of AudioSummary: a Summary message with one WAV file for each of the first
// max_outputs clips of a tensor.
//
//   tag [], tensor [batch, frames] or [batch, frames, channels] of float -> summary []
//
// The sample rate is an attribute of AudioSummary and an input of AudioSummaryV2. It is a float in
// the message, and is rounded to an integer (at least 1) in the file. A rate that is not positive,
// or does not fit the file's 32 bits, is INVALID_ARGUMENT. The files lie in the arena of the call
// until the message is encoded.
#include <math.h>

#include "base/checked.h"
#include "formats/media/wav.h"
#include "ops/kernel_rows.h"
#include "ops/summary/message_cpu.h"

typedef struct sounds_s {
  int64_t max_count;
  float rate;  // the attribute sample_rate; unused where an input has the rate
} sounds_t;

static leat_status_t sounds_create(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_int32(c, "max_outputs", &((sounds_t*)state)->max_count);
}

static leat_status_t old_sounds_create(leat_kernel_creation_t* c, void* state) {
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "sample_rate", &((sounds_t*)state)->rate));
  return sounds_create(c, state);
}

// Returns the sample rate in hertz, from the third of the inputs that describe sounds where there
// is one.
static leat_status_t read_rate(const leat_kernel_context_t* c, float* out_rate) {
  const sounds_t* sounds = leat_kernel_state(c);
  *out_rate = sounds->rate;
  int at = leat_summary_first_input(c) + 2;
  if (leat_kernel_input_count(c) > at) {
    const leat_tensor_t* rate = leat_kernel_input(c, at);
    if (rate->shape.element_count != 1) {
      return leat_kernel_invalid(c, "sample_rate has shape %s, must be a scalar",
                                 LEAT_SHAPE_TEXT(&rate->shape));
    }
    *out_rate = *leat_tensor_data(rate, const float);
  }
  if (*out_rate > 0 && *out_rate <= (float)UINT32_MAX) return leat_ok_status();
  return leat_kernel_invalid(c, "sample_rate is %g, must be > 0 and below 2^32",
                             (double)*out_rate);
}

// Encodes clip |index| as a WAV file in |arena|, as |audio| describes it.
static leat_status_t encode(leat_kernel_context_t* c, int64_t index, leat_arena_t* arena,
                            leat_pb_summary_audio_t* audio) {
  const leat_tensor_t* tensor = leat_kernel_input(c, leat_summary_first_input(c) + 1);
  int64_t count = audio->length_frames * audio->num_channels;
  uint64_t rate = (uint64_t)llrintf(audio->sample_rate);
  leat_string_builder_t file;
  leat_string_builder_initialize(leat_allocator_system(), &file);
  leat_status_t status =
      leat_wav_encode(leat_tensor_data(tensor, const float) + index * count, audio->length_frames,
                      audio->num_channels, LEAT_MAX(rate, 1), &file);
  if (!status) {
    status = leat_arena_copy_string(arena, leat_string_builder_view(&file),
                                    &audio->encoded_audio_string);
  }
  leat_string_builder_deinitialize(&file);
  return status;
}

static leat_status_t make_sounds(leat_kernel_context_t* c, leat_arena_t* arena) {
  const sounds_t* sounds = leat_kernel_state(c);
  int first = leat_summary_first_input(c);
  const leat_shape_t* shape = &leat_kernel_input(c, first + 1)->shape;
  leat_string_view_t tag;
  float rate;
  LEAT_RETURN_IF_ERROR(leat_summary_read_tag(c, first, &tag));
  if (shape->rank != 2 && shape->rank != 3) {
    return leat_kernel_invalid(c, "Tensor must be 3-D or 2-D, got: %s",
                               LEAT_SHAPE_TEXT(shape));
  }
  LEAT_RETURN_IF_ERROR(read_rate(c, &rate));
  int64_t count = LEAT_MIN(sounds->max_count, leat_shape_dim(shape, 0));
  leat_pb_summary_value_t* values;
  leat_pb_summary_audio_t* items;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)count, &values));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)count, &items));
  for (int64_t i = 0; i < count; ++i) {
    items[i] = (leat_pb_summary_audio_t){
        .sample_rate = rate,
        .num_channels = shape->rank == 2 ? 1 : leat_shape_dim(shape, 2),
        .length_frames = leat_shape_dim(shape, 1),
        .content_type = LEAT_SV("audio/wav")};
    values[i] = (leat_pb_summary_value_t){.audio = &items[i], .value_case = LEAT_SUMMARY_AUDIO};
    LEAT_RETURN_IF_ERROR(
        leat_summary_number_tag(arena, tag, "audio", i, sounds->max_count, &values[i].tag));
    LEAT_RETURN_IF_ERROR(encode(c, i, arena, &items[i]));
  }
  return leat_summary_set(c, values, (size_t)count);
}

static leat_status_t audio_summary__cpu(leat_kernel_context_t* c) {
  return leat_summary_with_arena(c, make_sounds);
}

const leat_kernel_row_t leat_audio_kernels_cpu[] = {
    {.op = "AudioSummary",
     .device_type = "CPU",
     .create = old_sounds_create,
     .state_bytes = sizeof(sounds_t),
     .compute = audio_summary__cpu},
    {.op = "AudioSummaryV2",
     .device_type = "CPU",
     .create = sounds_create,
     .state_bytes = sizeof(sounds_t),
     .compute = audio_summary__cpu},
    {.op = "WriteAudioSummary",
     .device_type = "CPU",
     .create = sounds_create,
     .state_bytes = sizeof(sounds_t),
     .compute = audio_summary__cpu},
    LEAT_KERNEL_ROWS_END,
};
