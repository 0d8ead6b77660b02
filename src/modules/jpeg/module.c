// The JPEG module's table of functions, and its errors.
#include "modules/jpeg/jpeg_codec.h"

#include <jerror.h>

static void jump_back(j_common_ptr codec) {
  leat_jpeg_errors_t* errors = (leat_jpeg_errors_t*)codec->err;
  errors->out_of_memory = codec->err->msg_code == JERR_OUT_OF_MEMORY;
  longjmp(errors->jump, 1);
}

static void drop(j_common_ptr codec) {}

struct jpeg_error_mgr* leat_jpeg_errors_initialize(leat_jpeg_errors_t* errors) {
  jpeg_std_error(&errors->manager);
  errors->manager.error_exit = jump_back;
  errors->manager.output_message = drop;
  errors->out_of_memory = false;
  return &errors->manager;
}

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

__attribute__((visibility("default"))) const leat_jpeg_module_t* leat_module_jpeg(void) {
  static const leat_jpeg_module_t kModule = {
      .struct_size = sizeof(leat_jpeg_module_t),
      .version = TEXT(LIBJPEG_TURBO_VERSION),
      .encode = leat_jpeg_module_encode,
      .decode = leat_jpeg_module_decode,
      .read_size = leat_jpeg_module_read_size,
  };
  return &kModule;
}
