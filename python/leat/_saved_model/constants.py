"""The names that SavedModels have in common: of files, collections, tags and signatures."""
from __future__ import annotations

SAVED_MODEL_SCHEMA_VERSION = 1
SAVED_MODEL_FILENAME_PB = 'saved_model.pb'
SAVED_MODEL_FILENAME_PBTXT = 'saved_model.pbtxt'
ASSETS_DIRECTORY, VARIABLES_DIRECTORY = 'assets', 'variables'
VARIABLES_FILENAME = 'variables'
ASSETS_KEY = 'saved_model_assets'
LEGACY_INIT_OP_KEY = 'legacy_init_op'
MAIN_OP_KEY = 'saved_model_main_op'
TRAIN_OP_KEY = 'saved_model_train_op'
INIT_OP_SIGNATURE_KEY = '__saved_model_init_op'
TRAIN_OP_SIGNATURE_KEY = '__saved_model_train_op'

SERVING, TRAINING, EVAL, GPU, TPU = 'serve', 'train', 'eval', 'gpu', 'tpu'

DEFAULT_SERVING_SIGNATURE_DEF_KEY = 'serving_default'
CLASSIFY_INPUTS = 'inputs'
CLASSIFY_METHOD_NAME = 'tensorflow/serving/classify'
CLASSIFY_OUTPUT_CLASSES, CLASSIFY_OUTPUT_SCORES = 'classes', 'scores'
PREDICT_INPUTS, PREDICT_OUTPUTS = 'inputs', 'outputs'
PREDICT_METHOD_NAME = 'tensorflow/serving/predict'
REGRESS_INPUTS, REGRESS_OUTPUTS = 'inputs', 'outputs'
REGRESS_METHOD_NAME = 'tensorflow/serving/regress'

EXPORTS = {
    'saved_model.' + space + name: name for part, names in {
        'constants': ('SAVED_MODEL_SCHEMA_VERSION', 'SAVED_MODEL_FILENAME_PB',
                      'SAVED_MODEL_FILENAME_PBTXT', 'ASSETS_DIRECTORY', 'VARIABLES_DIRECTORY',
                      'VARIABLES_FILENAME', 'ASSETS_KEY', 'LEGACY_INIT_OP_KEY', 'MAIN_OP_KEY'),
        'tag_constants': ('SERVING', 'TRAINING', 'EVAL', 'GPU', 'TPU'),
        'signature_constants': (
            'DEFAULT_SERVING_SIGNATURE_DEF_KEY', 'CLASSIFY_INPUTS', 'CLASSIFY_METHOD_NAME',
            'CLASSIFY_OUTPUT_CLASSES', 'CLASSIFY_OUTPUT_SCORES', 'PREDICT_INPUTS',
            'PREDICT_OUTPUTS', 'PREDICT_METHOD_NAME', 'REGRESS_INPUTS', 'REGRESS_OUTPUTS',
            'REGRESS_METHOD_NAME')}.items()
    for name in names for space in ('', part + '.')}
