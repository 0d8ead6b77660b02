leat_cpp_plugin(text unicode/normalizer2.h icuuc libicu-dev re2/re2.h re2 libre2-dev
  sentencepiece_processor.h sentencepiece libsentencepiece-dev)
if(TARGET text_plugin)
  set_property(GLOBAL APPEND PROPERTY LEAT_PLUGIN_TESTS
    tests.capi.text_plugin_test tests.capi.text_model_test)
endif()
