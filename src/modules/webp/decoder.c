// libwebp's decoder: the frames of a WebP file as RGB or RGBA. A still image is decoded right into
// the caller's memory. An animation's frames cover parts of a canvas and are blended with what was
// there; libwebp's animation decoder keeps the canvas, which is copied for each frame.
//
// How many frames there are and how large they are is read from the file's chunks before anything
// is decoded, and the caller is asked for memory then: it refuses what is too large, so that a
// short file that claims a huge canvas costs nothing. An animation that ends early is refused as a
// whole, as in TensorFlow.
#include <string.h>
#include <webp/decode.h>
#include <webp/demux.h>

#include "formats/media/webp_module.h"

// The version that the module was compiled for, as libwebp numbers it.
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

typedef struct file_s {
  const uint8_t* bytes;
  size_t size;
  int64_t most_frames;
  const leat_image_target_t* target;
} file_t;

static int decode_still(const file_t* file, leat_image_size_t size, const char** out_reason) {
  uint8_t* pixels = file->target->allocate(file->target->data, &size);
  if (!pixels) return LEAT_ABORTED;
  const int64_t stride = size.width * size.channels;
  const size_t bytes = (size_t)(stride * size.height);
  const uint8_t* done =
      size.channels == 4
          ? WebPDecodeRGBAInto(file->bytes, file->size, pixels, bytes, (int)stride)
          : WebPDecodeRGBInto(file->bytes, file->size, pixels, bytes, (int)stride);
  if (done) return LEAT_OK;
  *out_reason = "Failed to decode WebP image.";
  return LEAT_INVALID_ARGUMENT;
}

static int decode_frames(const file_t* file, WebPAnimDecoder* decoder,
                         const leat_image_size_t* size, uint8_t* pixels) {
  const size_t bytes = (size_t)(size->height * size->width) * 4;
  for (int64_t i = 0; i < size->frames; ++i, pixels += bytes) {
    uint8_t* canvas;
    int time;
    if (!WebPAnimDecoderGetNext(decoder, &canvas, &time)) return LEAT_INVALID_ARGUMENT;
    memcpy(pixels, canvas, bytes);
  }
  return LEAT_OK;
}

// What the chunks say of an animation; |frames| is 0 where they are not all there.
static leat_image_size_t measure(const WebPData* data, int64_t most_frames) {
  leat_image_size_t size = {.channels = 4};
  WebPDemuxer* chunks = WebPDemux(data);
  if (!chunks) return size;
  const int64_t frames = WebPDemuxGetI(chunks, WEBP_FF_FRAME_COUNT);
  size.frames = frames < most_frames ? frames : most_frames;
  size.height = WebPDemuxGetI(chunks, WEBP_FF_CANVAS_HEIGHT);
  size.width = WebPDemuxGetI(chunks, WEBP_FF_CANVAS_WIDTH);
  WebPDemuxDelete(chunks);
  return size;
}

static int decode_animation(const file_t* file, const char** out_reason) {
  const WebPData data = {file->bytes, file->size};
  const leat_image_size_t size = measure(&data, file->most_frames);
  *out_reason = "Failed to decode WebP Animation.";
  if (size.frames <= 0) return LEAT_INVALID_ARGUMENT;
  uint8_t* pixels = file->target->allocate(file->target->data, &size);
  if (!pixels) return LEAT_ABORTED;
  WebPAnimDecoderOptions options;
  if (!WebPAnimDecoderOptionsInit(&options)) return LEAT_INTERNAL;
  options.color_mode = MODE_RGBA;
  options.use_threads = 0;
  WebPAnimDecoder* decoder = WebPAnimDecoderNew(&data, &options);
  if (!decoder) return LEAT_INVALID_ARGUMENT;
  const int code = decode_frames(file, decoder, &size, pixels);
  WebPAnimDecoderDelete(decoder);
  return code;
}

static int decode(const uint8_t* bytes, size_t size, int channels, int64_t most_frames,
                  const leat_image_target_t* target, const char** out_reason) {
  const file_t file = {bytes, size, most_frames, target};
  WebPBitstreamFeatures head;
  if (WebPGetFeatures(bytes, size, &head) != VP8_STATUS_OK) {
    *out_reason = "Failed to decode WebP header.";
    return LEAT_INVALID_ARGUMENT;
  }
  const int own = head.has_alpha || head.has_animation ? 4 : 3;
  if (channels != 0 && channels != own) {
    *out_reason = "Number of channels requested does not match input";
    return LEAT_INVALID_ARGUMENT;
  }
  if (head.has_animation) return decode_animation(&file, out_reason);
  return decode_still(&file, (leat_image_size_t){1, head.height, head.width, own}, out_reason);
}

__attribute__((visibility("default"))) const leat_webp_module_t* leat_module_webp(void) {
  static const leat_webp_module_t kModule = {
      .struct_size = sizeof(leat_webp_module_t),
      .version = "decoder " TEXT(WEBP_DECODER_ABI_VERSION) ", demux " TEXT(WEBP_DEMUX_ABI_VERSION),
      .decode = decode,
  };
  return &kModule;
}
