// The interface of leat_module_jpeg.so: what the JPEG library does for us.
#ifndef LEAT_FORMATS_MEDIA_JPEG_MODULE_H_
#define LEAT_FORMATS_MEDIA_JPEG_MODULE_H_

#include "formats/media/image_file.h"

// An image to encode, [height, width, channels] of 8 bits.
typedef struct leat_jpeg_image_s {
  const uint8_t* pixels;
  int height, width;
  int channels;  // 1 grey, 3 RGB
  int quality;   // 0 to 100
  bool progressive;
  bool optimize_size;        // smaller files, slower
  bool chroma_downsampling;  // colours have half the resolution
  bool per_centimetre;       // the densities' unit; else inch
  int x_density, y_density;  // pixels per unit
  const char* xmp;           // [xmp_size] metadata, or none
  size_t xmp_size;
} leat_jpeg_image_t;

// A file to decode.
typedef struct leat_jpeg_file_s {
  const uint8_t* bytes;
  size_t size;
  int channels;  // 1 or 3; 0: those of the file, at most 3
  int ratio;     // 1, 2, 4 or 8: the image is made so much smaller
  bool fancy_upscaling;     // of colours; slower and smoother
  bool accurate_dct;        // slower than the other
  bool recover_truncated;   // a file that ends early is read as if its last row went on
  float acceptable_fraction;  // of the rows, at least, of a file that ends early
  bool crops;                 // only a window is decoded, in pixels of the result
  int crop_y, crop_x, crop_height, crop_width;
} leat_jpeg_file_t;

typedef bool (*leat_jpeg_write_fn_t)(void* data, const void* bytes, size_t size);

typedef struct leat_jpeg_module_s {
  size_t struct_size;
  const char* version;
  // Codes as of the PNG module. What is told of an image by its head alone: |read_size|, with
  // INVALID_ARGUMENT for what is no JPEG file.
  int (*encode)(const leat_jpeg_image_t* image, leat_jpeg_write_fn_t write, void* data);
  int (*decode)(const leat_jpeg_file_t* file, const leat_image_target_t* target);
  int (*read_size)(const uint8_t* bytes, size_t size, leat_image_size_t* out_size);
} leat_jpeg_module_t;

// The module's only exported symbol, `leat_module_jpeg`, has this type.
const leat_jpeg_module_t* leat_module_jpeg(void);

#endif  // LEAT_FORMATS_MEDIA_JPEG_MODULE_H_
