"""What the ops that are public functions compute, one or two sentences for each.

Definitions of ops have no text. The wrappers of ops (raw_ops.py) and functions that do nothing but
apply one op begin their docstrings with these.
"""

SUMMARIES = {
    # Arithmetic, element by element.
    'Acos': 'The arc cosine, element by element, in radians; NaN outside of [-1, 1].',
    'Acosh': 'The inverse hyperbolic cosine, element by element; NaN below 1.',
    'Asin': 'The arc sine, element by element, in radians; NaN outside of [-1, 1].',
    'Asinh': 'The inverse hyperbolic sine, element by element.',
    'Atan': 'The arc tangent, element by element, in radians.',
    'Atan2': 'The angle of the point (x, y), element by element, in radians from -pi to pi.',
    'Atanh': 'The inverse hyperbolic tangent, element by element; NaN outside of [-1, 1].',
    'BesselI0': 'The modified Bessel function of the first kind and order 0, element by element.',
    'BesselI0e': 'exp(-|x|) times the modified Bessel function of order 0, element by element.',
    'BesselI1': 'The modified Bessel function of the first kind and order 1, element by element.',
    'BesselI1e': 'exp(-|x|) times the modified Bessel function of order 1, element by element.',
    'Betainc': 'The regularized incomplete beta function of a and b at x, element by element.',
    'Ceil': 'The smallest integer that is not below x, element by element; the type stays.',
    'Cos': 'The cosine of radians, element by element.',
    'Cosh': 'The hyperbolic cosine, element by element.',
    'Digamma': 'The derivative of lgamma, element by element.',
    'Erf': 'The Gauss error function, element by element.',
    'Erfc': '1 - erf(x), element by element, without the loss of digits for large x.',
    'Erfinv': 'The inverse of erf, element by element.',
    'Exp': 'e to the power x, element by element.',
    'Expm1': 'exp(x) - 1, element by element, without the loss of digits near 0.',
    'Floor': 'The largest integer that is not above x, element by element; the type stays.',
    'FloorDiv': 'x / y rounded down, element by element.',
    'FloorMod': "The remainder of x / y with the sign of y, element by element, as Python's %.",
    'Igamma': 'The regularized lower incomplete gamma function of a at x, element by element.',
    'Igammac': 'The regularized upper incomplete gamma function of a at x, element by element.',
    'IsFinite': 'Whether each element is neither infinite nor NaN.',
    'IsInf': 'Whether each element is infinite.',
    'IsNan': 'Whether each element is NaN.',
    'Lgamma': 'The logarithm of the absolute value of the gamma function, element by element.',
    'Log': 'The natural logarithm, element by element: -inf at 0, NaN below.',
    'Log1p': 'log(1 + x), element by element, without the loss of digits near 0.',
    'Maximum': 'The larger of x and y, element by element. Shapes are broadcast.',
    'Minimum': 'The smaller of x and y, element by element. Shapes are broadcast.',
    'Ndtri': 'The quantile of the standard normal distribution, element by element.',
    'Neg': '-x, element by element.',
    'NextAfter': 'The next number that can be represented after x1 towards x2, element by element.',
    'Polygamma': 'The derivative of order a of the digamma function at x, element by element.',
    'RealDiv': 'x / y of numbers with a fraction, element by element.',
    'Reciprocal': '1 / x, element by element.',
    'Rint': 'The nearest integer, the even one of two, element by element; the type stays.',
    'Rsqrt': '1 / sqrt(x), element by element.',
    'Sin': 'The sine of radians, element by element.',
    'Sinh': 'The hyperbolic sine, element by element.',
    'Sqrt': 'The square root, element by element; NaN of negative numbers.',
    'Square': 'x * x, element by element.',
    'SquaredDifference': '(x - y) * (x - y), element by element. Shapes are broadcast.',
    'Tan': 'The tangent of radians, element by element.',
    'Tanh': 'The hyperbolic tangent, element by element: between -1 and 1.',
    'TruncateDiv': 'x / y of integers rounded towards 0, element by element.',
    'TruncateMod': 'The remainder of x / y with the sign of x, element by element.',
    'Xlogy': 'x * log(y), 0 where x is 0, element by element.',
    'Zeta': 'The Hurwitz zeta function of x at q, element by element.',
    # Comparisons, logic, bits.
    'BitwiseAnd': 'The bits that are set in both integers, element by element.',
    'BitwiseOr': 'The bits that are set in one of two integers, element by element.',
    'BitwiseXor': 'The bits in which two integers differ, element by element.',
    'Greater': 'Whether x > y, element by element. Shapes are broadcast.',
    'GreaterEqual': 'Whether x >= y, element by element. Shapes are broadcast.',
    'Invert': 'The integers with all bits inverted.',
    'LeftShift': 'x with its bits shifted up by y places, element by element.',
    'Less': 'Whether x < y, element by element. Shapes are broadcast.',
    'LessEqual': 'Whether x <= y, element by element. Shapes are broadcast.',
    'LogicalAnd': 'Whether both are true, element by element.',
    'LogicalNot': 'Whether x is false, element by element.',
    'LogicalOr': 'Whether one of both is true, element by element.',
    'PopulationCount': 'How many bits of each integer are set.',
    'RightShift': 'x with its bits shifted down by y places, element by element.',
    # Arrays.
    'ArgMax': 'The index of the largest element along a dimension, the first of equal ones.',
    'ArgMin': 'The index of the smallest element along a dimension, the first of equal ones.',
    'BatchToSpaceND': 'Puts the blocks of space_to_batch_nd together, and cuts `crops` off.',
    'Bitcast': 'The same bytes as another type. Of a larger type the last dimension is added, of a '
               'smaller type it is taken away.',
    'BroadcastTo': 'The tensor repeated to a shape, by the rules of arithmetic: sizes of 1 grow.',
    'CheckNumerics': 'The same tensor. A step fails with `message` where an element is NaN or '
                     'infinite.',
    'Cross': 'The vector product of vectors [..., 3].',
    'Diag': 'A tensor with `diagonal`, of the shape s, on its diagonal: the shape is s + s.',
    'DynamicPartition': 'The rows of `data` dealt out to num_partitions tensors; `partitions` says '
                        'for each row, or element, to which.',
    'DynamicStitch': 'The rows of several tensors in one: indices[i] says where those of data[i] '
                     'go.',
    'EnsureShape': 'The same tensor. A step fails where its shape does not fit the one given.',
    'ExtractVolumePatches': 'Blocks of input [batch, planes, rows, columns, depth], each as a row.',
    'Fingerprint': 'A hash of each row of `data`, as bytes.',
    'GuaranteeConst': 'The same tensor, which will not change in later steps.',
    'HistogramFixedWidth': 'How many values lie in each of nbins equal parts of value_range; those '
                           'outside count in the first or last part.',
    'IdentityN': 'The same tensors, which are all computed before one of them is used.',
    'InvertPermutation': 'The indices that undo a permutation: y[x[i]] = i.',
    'MatrixBandPart': 'Matrices [..., m, n] with zeros outside of a band of num_lower diagonals '
                      'below and num_upper above the main one; -1 is all of them.',
    'NoOp': 'An operation that does nothing. It can have control inputs.',
    'RandomIndexShuffle': 'The place of `index` in a random order of 0 to max_index that follows '
                          'from the seed.',
    'ReverseV2': 'The tensor backwards along the dimensions in `axis`.',
    'Roll': 'The elements moved along `axis` by `shift` places; those that leave come in again at '
            'the other end.',
    'ScatterNd': 'A tensor of zeros of `shape`, to which `updates` are added at `indices` '
                 '[..., depth].',
    'SpaceToBatchND': 'Pads the dimensions after the first, cuts them into blocks of block_shape, '
                      'and moves the places of a block into the first dimension.',
    'TensorScatterAdd': 'The tensor with `updates` added at `indices` [..., depth].',
    'TensorScatterMax': 'The tensor with the larger of itself and `updates` at `indices`.',
    'TensorScatterMin': 'The tensor with the smaller of itself and `updates` at `indices`.',
    'TensorScatterSub': 'The tensor with `updates` subtracted at `indices` [..., depth].',
    'TensorScatterUpdate': 'The tensor with `updates` in the places `indices` [..., depth].',
    'Tile': 'The tensor repeated multiples[i] times along each dimension i.',
    'UnravelIndex': 'The coordinates, [rank, n], of indices into a flattened tensor of shape dims.',
    # Segments.
    'SegmentMax': 'The largest of the rows of each segment; segment_ids are sorted, one for a row.',
    'SegmentMean': 'The mean of the rows of each segment; segment_ids are sorted, one for a row.',
    'SegmentMin': 'The smallest of the rows of each segment; segment_ids are sorted, one a row.',
    'SegmentProd': 'The product of the rows of each segment; segment_ids are sorted, one a row.',
    'SegmentSum': 'The sum of the rows of each segment; segment_ids are sorted, one for a row.',
    'UnsortedSegmentMax': 'The largest of the rows of each of num_segments segments; ids below 0 '
                          'are left out.',
    'UnsortedSegmentMin': 'The smallest of the rows of each of num_segments segments; ids below 0 '
                          'are left out.',
    'UnsortedSegmentProd': 'The product of the rows of each of num_segments segments; ids below 0 '
                           'are left out.',
    'UnsortedSegmentSum': 'The sum of the rows of each of num_segments segments; ids below 0 are '
                          'left out.',
    # Matrices and spectra.
    'Cholesky': 'The lower triangles L with L * transpose(L) = input, positive definite matrices '
                '[..., n, n]. A step fails where one is not.',
    'FFT': 'The discrete Fourier transform over the last dimension.',
    'FFT2D': 'The discrete Fourier transform over the last two dimensions.',
    'FFT3D': 'The discrete Fourier transform over the last three dimensions.',
    'IFFT': 'The inverse discrete Fourier transform over the last dimension.',
    'IFFT2D': 'The inverse discrete Fourier transform over the last two dimensions.',
    'IFFT3D': 'The inverse discrete Fourier transform over the last three dimensions.',
    'LogMatrixDeterminant': '(the sign, the logarithm of the absolute value) of the determinants '
                            'of matrices [..., n, n].',
    'Lu': '(lu, p): the triangles of matrices [..., n, n] in one matrix, and the order of rows.',
    'MatrixDeterminant': 'The determinants of matrices [..., n, n].',
    'MatrixInverse': 'The inverses of matrices [..., n, n]. A step fails where one has none.',
    'MatrixLogarithm': 'The logarithms of complex matrices [..., n, n].',
    'MatrixSolve': 'The x with matrix * x = rhs, of matrices [..., n, n] and rhs [..., n, k].',
    'MatrixSquareRoot': 'The matrices whose square is the input [..., n, n].',
    'Qr': '(q, r) with q * r = input [..., m, n], q orthogonal, r an upper triangle.',
    # Neural networks.
    'AvgPool3D': 'The mean of each window of input [batch, depth, height, width, channels].',
    'Conv': 'A convolution over as many dimensions as the input has between batch and channels.',
    'Conv2DBackpropFilterV2': 'The gradient of conv2d by its filter.',
    'Conv2DBackpropInputV2': 'The gradient of conv2d by its input.',
    'Conv3DBackpropFilterV2': 'The gradient of conv3d by its filter.',
    'Dilation2D': 'The largest of input + filter in each window: input [batch, height, width, '
                  'depth], filter [height, width, depth].',
    'Elu': 'exp(x) - 1 below 0, x above, element by element.',
    'FractionalAvgPool': 'The mean of windows of random sizes whose mean is pooling_ratio.',
    'L2Loss': 'Half the sum of the squares of all elements, a scalar.',
    'LRN': 'Each element divided by a power of a weighted sum of squares of its neighbors in the '
           'depth: (bias + alpha * sum)^beta.',
    'MaxPool3D': 'The largest of each window of input [batch, depth, height, width, channels].',
    'Relu': 'The larger of x and 0, element by element.',
    'Selu': 'elu with the scale that keeps mean 0 and variance 1, element by element.',
    'Softsign': 'x / (1 + |x|), element by element.',
    # Numbers in few bits.
    'Dequantize': 'The numbers that quantized values of the range min_range to max_range are of.',
    'FakeQuantWithMinMaxArgs': 'The numbers rounded as num_bits bits between min and max would.',
    'FakeQuantWithMinMaxArgsGradient': 'The gradient of fake_quant_with_min_max_args.',
    'FakeQuantWithMinMaxVars': 'fake_quant_with_min_max_args with tensors for min and max.',
    'FakeQuantWithMinMaxVarsGradient': 'The gradients of fake_quant_with_min_max_vars.',
    'FakeQuantWithMinMaxVarsPerChannel': 'fake_quant_with_min_max_vars with a min and a max for '
                                         'each index of the last dimension.',
    'FakeQuantWithMinMaxVarsPerChannelGradient': 'The gradients of '
                                                 'fake_quant_with_min_max_vars_per_channel.',
    'QuantizeV2': '(numbers in few bits for the range min_range to max_range, its ends as used).',
    # Texts, files, encodings.
    'AsString': 'Numbers and bools as texts, element by element.',
    'DecodeAndCropJpeg': 'A part of a JPEG, [height, width, channels] uint8; crop_window is '
                         '[y, x, height, width].',
    'DecodeBase64': 'The bytes of texts in web-safe base64.',
    'DecodeBmp': 'A BMP as [height, width, channels] uint8.',
    'DecodeCompressed': "The bytes that were compressed as 'ZLIB' or 'GZIP'.",
    'DecodeGif': 'A GIF as [frames, height, width, 3] uint8.',
    'DecodeJSONExample': 'Examples in JSON as serialized Example messages.',
    'DecodeJpeg': 'A JPEG as [height, width, channels] uint8. channels 0 is what the file has, 1 '
                  'gray, 3 RGB.',
    'DecodePng': 'A PNG as [height, width, channels] uint8 or uint16. channels 0 is what the file '
                 'has, 1 gray, 3 RGB, 4 with alpha.',
    'DecodeProtoV2': '(how many values each field has, the values of each field) of serialized '
                     'messages of the type message_type.',
    'DecodeWav': '(samples [length, channels] float32 from -1 to 1, samples a second) of a WAV.',
    'EncodeBase64': 'Bytes as texts in web-safe base64.',
    'EncodeJpeg': 'A picture [height, width, 1 or 3] uint8 as a JPEG.',
    'EncodeProto': 'Serialized messages of the type message_type, of the values of their fields.',
    'EncodeWav': 'Samples [length, channels] float32 from -1 to 1 as a WAV.',
    'ExtractJpegShape': 'The shape [height, width, channels] of a JPEG, of its header alone.',
    'MatchingFiles': 'The names of files that match patterns, sorted.',
    'ParseTensor': 'The tensor of a serialized TensorProto, whose type must be out_type.',
    'ReadFile': 'The bytes of a file, a scalar string. A step fails where there is none.',
    'SerializeTensor': 'A tensor as a serialized TensorProto, a scalar string.',
    'StringJoin': 'The texts of several tensors joined, element by element, with a separator.',
    'StringLength': 'The lengths of texts, in bytes or in characters of UTF-8.',
    'StringLower': 'Texts in small letters.',
    'StringStrip': 'Texts without the blanks at both ends.',
    'StringToHashBucket': 'A number from 0 to below num_buckets for each text.',
    'StringToHashBucketFast': 'A number from 0 to below num_buckets for each text, by a fast hash '
                              'that others can make collide.',
    'StringToHashBucketStrong': 'A number from 0 to below num_buckets for each text, by a hash '
                                'with a key of two integers.',
    'StringToNumber': 'The numbers that texts stand for. A step fails where one is no number.',
    'StringUpper': 'Texts in capital letters.',
    'Substr': 'The piece of each text that begins at `pos`, of the length `len`.',
    'UnicodeTranscode': 'Texts in another encoding.',
    'WriteFile': 'An operation that writes `contents` to a file, and makes the folders for it.',
    # Pictures.
    'ResizeBicubic': 'Pictures [batch, height, width, channels] in another size, by cubic '
                     'interpolation.',
    'ResizeBilinear': 'Pictures [batch, height, width, channels] in another size, by linear '
                      'interpolation.',
    'ResizeNearestNeighbor': 'Pictures [batch, height, width, channels] in another size, each '
                             'pixel the nearest one.',
}


def summary_of(op):
  """The sentences about an op; 'The op X.' where there are none."""
  return SUMMARIES.get(op, 'The op %s.' % op)
