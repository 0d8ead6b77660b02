// The two halves of the JPEG module, and how both end where libjpeg reports an error. libjpeg calls
// a function that must not return; ours jumps back to the half's own entry, which is the only frame
// that the jump may cross.
#ifndef LEAT_MODULES_JPEG_JPEG_CODEC_H_
#define LEAT_MODULES_JPEG_JPEG_CODEC_H_

#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>

#include "formats/media/jpeg_module.h"

typedef struct leat_jpeg_errors_s {
  struct jpeg_error_mgr manager;  // first, since libjpeg hands it around
  jmp_buf jump;
  bool out_of_memory;
} leat_jpeg_errors_t;

// Errors jump to |errors->jump|, which the caller sets afterwards; messages are dropped.
struct jpeg_error_mgr* leat_jpeg_errors_initialize(leat_jpeg_errors_t* errors);

int leat_jpeg_module_encode(const leat_jpeg_image_t* image, leat_jpeg_write_fn_t write,
                            void* data);
int leat_jpeg_module_decode(const leat_jpeg_file_t* file, const leat_image_target_t* target);
int leat_jpeg_module_read_size(const uint8_t* bytes, size_t size, leat_image_size_t* out_size);

#endif  // LEAT_MODULES_JPEG_JPEG_CODEC_H_
