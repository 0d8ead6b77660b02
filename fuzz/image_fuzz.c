// Files of images: BMP by our own code, the others through their modules, where these are (dev/fuzz
// says where to look for them). The first byte says which, and how many channels are wanted. A
// target refuses what is large, so that no head can claim much memory.
#include "formats/media/bmp.h"
#include "formats/media/gif.h"
#include "formats/media/jpeg.h"
#include "formats/media/png.h"

#include <stdlib.h>

#define MOST_BYTES ((int64_t)1 << 20)

static void* allocate(void* data, const leat_image_size_t* size) {
  const int64_t most = (int64_t)1 << 20;
  if (size->height > most || size->width > most || size->frames > most) return NULL;
  const int64_t pixels = size->height * size->width;
  if (pixels > MOST_BYTES / 8 || pixels * size->frames > MOST_BYTES / 8) return NULL;
  // Two bytes for each of the channels, exactly as much as the decoder may write.
  void** memory = data;
  *memory = malloc((size_t)(pixels * size->frames * size->channels) * 2 + 1);
  return *memory;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const uint8_t kChannels[] = {0, 1, 3, 4};
  if (size == 0) return 0;
  void* memory = NULL;
  const leat_image_target_t target = {&memory, allocate};
  const int kind = data[0] & 3, channels = kChannels[data[0] >> 2 & 3];
  const bool flag = data[0] & 16, other = data[0] & 32;
  leat_status_t status;
  ++data, --size;
  if (kind == 0) {
    status = leat_bmp_decode(data, size, channels, &target);
  } else if (kind == 1) {
    const leat_png_file_t png = {data, size, channels, flag ? 16 : 8};
    status = leat_png_decode(&png, &target);
  } else if (kind == 2) {
    status = leat_gif_decode(data, size, flag ? 1 : INT32_MAX, &target);
  } else {
    const leat_jpeg_file_t jpeg = {.bytes = data, .size = size, .channels = channels,
                                   .ratio = other ? 2 : 1, .fancy_upscaling = flag,
                                   .recover_truncated = other, .acceptable_fraction = 0.5f,
                                   .crops = flag, .crop_y = 1, .crop_x = 1, .crop_height = 2,
                                   .crop_width = 3};
    status = leat_jpeg_decode(&jpeg, &target);
  }
  leat_status_free(status);
  free(memory);
  return 0;
}
