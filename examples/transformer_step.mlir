module @jit_training_step attributes {mhlo.num_partitions = 128 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=4, "fsdp"=4, "tensor"=8]> {stablehlo.mesh = {axes = [{name = "data", size = 4 : i64}, {name = "fsdp", size = 4 : i64}, {name = "tensor", size = 8 : i64}]}}
  func.func public @main(%arg0: tensor<32768x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {"fsdp"}]>, tf.aliasing_output = 0 : i32}, %arg1: tensor<4096x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {"fsdp"}]>, tf.aliasing_output = 1 : i32}, %arg2: tensor<1024x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>, tf.aliasing_output = 2 : i32}, %arg3: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>, tf.aliasing_output = 3 : i32}, %arg4: tensor<1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>, tf.aliasing_output = 4 : i32}, %arg5: tensor<1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>, tf.aliasing_output = 5 : i32}, %arg6: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {"fsdp"}]>, tf.aliasing_output = 6 : i32}, %arg7: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>, tf.aliasing_output = 7 : i32}, %arg8: tensor<1024x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>, tf.aliasing_output = 8 : i32}, %arg9: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>, tf.aliasing_output = 9 : i32}, %arg10: tensor<4096x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {"fsdp"}]>, tf.aliasing_output = 10 : i32}, %arg11: tensor<1024x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>, tf.aliasing_output = 11 : i32}, %arg12: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>, tf.aliasing_output = 12 : i32}, %arg13: tensor<1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>, tf.aliasing_output = 13 : i32}, %arg14: tensor<1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>, tf.aliasing_output = 14 : i32}, %arg15: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {"fsdp"}]>, tf.aliasing_output = 15 : i32}, %arg16: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>, tf.aliasing_output = 16 : i32}, %arg17: tensor<1024x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>, tf.aliasing_output = 17 : i32}, %arg18: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>, tf.aliasing_output = 18 : i32}, %arg19: tensor<32768x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {"fsdp"}]>, tf.aliasing_output = 19 : i32}, %arg20: tensor<4096x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {"fsdp"}]>, tf.aliasing_output = 20 : i32}, %arg21: tensor<1024x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>, tf.aliasing_output = 21 : i32}, %arg22: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>, tf.aliasing_output = 22 : i32}, %arg23: tensor<1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>, tf.aliasing_output = 23 : i32}, %arg24: tensor<1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>, tf.aliasing_output = 24 : i32}, %arg25: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {"fsdp"}]>, tf.aliasing_output = 25 : i32}, %arg26: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>, tf.aliasing_output = 26 : i32}, %arg27: tensor<1024x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>, tf.aliasing_output = 27 : i32}, %arg28: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>, tf.aliasing_output = 28 : i32}, %arg29: tensor<4096x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {"fsdp"}]>, tf.aliasing_output = 29 : i32}, %arg30: tensor<1024x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>, tf.aliasing_output = 30 : i32}, %arg31: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>, tf.aliasing_output = 31 : i32}, %arg32: tensor<1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>, tf.aliasing_output = 32 : i32}, %arg33: tensor<1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>, tf.aliasing_output = 33 : i32}, %arg34: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {"fsdp"}]>, tf.aliasing_output = 34 : i32}, %arg35: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>, tf.aliasing_output = 35 : i32}, %arg36: tensor<1024x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>, tf.aliasing_output = 36 : i32}, %arg37: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>, tf.aliasing_output = 37 : i32}, %arg38: tensor<32768x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {"fsdp"}]>, tf.aliasing_output = 38 : i32}, %arg39: tensor<4096x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {"fsdp"}]>, tf.aliasing_output = 39 : i32}, %arg40: tensor<1024x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>, tf.aliasing_output = 40 : i32}, %arg41: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>, tf.aliasing_output = 41 : i32}, %arg42: tensor<1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>, tf.aliasing_output = 42 : i32}, %arg43: tensor<1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>, tf.aliasing_output = 43 : i32}, %arg44: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {"fsdp"}]>, tf.aliasing_output = 44 : i32}, %arg45: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>, tf.aliasing_output = 45 : i32}, %arg46: tensor<1024x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>, tf.aliasing_output = 46 : i32}, %arg47: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>, tf.aliasing_output = 47 : i32}, %arg48: tensor<4096x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {"fsdp"}]>, tf.aliasing_output = 48 : i32}, %arg49: tensor<1024x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>, tf.aliasing_output = 49 : i32}, %arg50: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>, tf.aliasing_output = 50 : i32}, %arg51: tensor<1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>, tf.aliasing_output = 51 : i32}, %arg52: tensor<1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>, tf.aliasing_output = 52 : i32}, %arg53: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {"fsdp"}]>, tf.aliasing_output = 53 : i32}, %arg54: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>, tf.aliasing_output = 54 : i32}, %arg55: tensor<1024x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>, tf.aliasing_output = 55 : i32}, %arg56: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>, tf.aliasing_output = 56 : i32}, %arg57: tensor<64x512xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", "fsdp"}, {}]>}) -> (tensor<32768x1024xf32> {jax.result_info = "result[0].embedding", sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {"fsdp"}]>}, tensor<4096x1024xf32> {jax.result_info = "result[0].layers[0]['down']", sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {"fsdp"}]>}, tensor<1024x4096xf32> {jax.result_info = "result[0].layers[0]['gate']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>}, tensor<1024x1024xf32> {jax.result_info = "result[0].layers[0]['key']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>}, tensor<1024xf32> {jax.result_info = "result[0].layers[0]['norm_attention']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<1024xf32> {jax.result_info = "result[0].layers[0]['norm_mlp']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<1024x1024xf32> {jax.result_info = "result[0].layers[0]['out']", sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {"fsdp"}]>}, tensor<1024x1024xf32> {jax.result_info = "result[0].layers[0]['query']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>}, tensor<1024x4096xf32> {jax.result_info = "result[0].layers[0]['up']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>}, tensor<1024x1024xf32> {jax.result_info = "result[0].layers[0]['value']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>}, tensor<4096x1024xf32> {jax.result_info = "result[0].layers[1]['down']", sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {"fsdp"}]>}, tensor<1024x4096xf32> {jax.result_info = "result[0].layers[1]['gate']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>}, tensor<1024x1024xf32> {jax.result_info = "result[0].layers[1]['key']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>}, tensor<1024xf32> {jax.result_info = "result[0].layers[1]['norm_attention']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<1024xf32> {jax.result_info = "result[0].layers[1]['norm_mlp']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<1024x1024xf32> {jax.result_info = "result[0].layers[1]['out']", sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {"fsdp"}]>}, tensor<1024x1024xf32> {jax.result_info = "result[0].layers[1]['query']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>}, tensor<1024x4096xf32> {jax.result_info = "result[0].layers[1]['up']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>}, tensor<1024x1024xf32> {jax.result_info = "result[0].layers[1]['value']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>}, tensor<32768x1024xf32> {jax.result_info = "result[1].embedding", sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {"fsdp"}]>}, tensor<4096x1024xf32> {jax.result_info = "result[1].layers[0]['down']", sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {"fsdp"}]>}, tensor<1024x4096xf32> {jax.result_info = "result[1].layers[0]['gate']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>}, tensor<1024x1024xf32> {jax.result_info = "result[1].layers[0]['key']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>}, tensor<1024xf32> {jax.result_info = "result[1].layers[0]['norm_attention']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<1024xf32> {jax.result_info = "result[1].layers[0]['norm_mlp']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<1024x1024xf32> {jax.result_info = "result[1].layers[0]['out']", sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {"fsdp"}]>}, tensor<1024x1024xf32> {jax.result_info = "result[1].layers[0]['query']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>}, tensor<1024x4096xf32> {jax.result_info = "result[1].layers[0]['up']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>}, tensor<1024x1024xf32> {jax.result_info = "result[1].layers[0]['value']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>}, tensor<4096x1024xf32> {jax.result_info = "result[1].layers[1]['down']", sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {"fsdp"}]>}, tensor<1024x4096xf32> {jax.result_info = "result[1].layers[1]['gate']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>}, tensor<1024x1024xf32> {jax.result_info = "result[1].layers[1]['key']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>}, tensor<1024xf32> {jax.result_info = "result[1].layers[1]['norm_attention']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<1024xf32> {jax.result_info = "result[1].layers[1]['norm_mlp']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<1024x1024xf32> {jax.result_info = "result[1].layers[1]['out']", sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {"fsdp"}]>}, tensor<1024x1024xf32> {jax.result_info = "result[1].layers[1]['query']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>}, tensor<1024x4096xf32> {jax.result_info = "result[1].layers[1]['up']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>}, tensor<1024x1024xf32> {jax.result_info = "result[1].layers[1]['value']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>}, tensor<32768x1024xf32> {jax.result_info = "result[2].embedding", sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {"fsdp"}]>}, tensor<4096x1024xf32> {jax.result_info = "result[2].layers[0]['down']", sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {"fsdp"}]>}, tensor<1024x4096xf32> {jax.result_info = "result[2].layers[0]['gate']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>}, tensor<1024x1024xf32> {jax.result_info = "result[2].layers[0]['key']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>}, tensor<1024xf32> {jax.result_info = "result[2].layers[0]['norm_attention']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<1024xf32> {jax.result_info = "result[2].layers[0]['norm_mlp']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<1024x1024xf32> {jax.result_info = "result[2].layers[0]['out']", sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {"fsdp"}]>}, tensor<1024x1024xf32> {jax.result_info = "result[2].layers[0]['query']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>}, tensor<1024x4096xf32> {jax.result_info = "result[2].layers[0]['up']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>}, tensor<1024x1024xf32> {jax.result_info = "result[2].layers[0]['value']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>}, tensor<4096x1024xf32> {jax.result_info = "result[2].layers[1]['down']", sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {"fsdp"}]>}, tensor<1024x4096xf32> {jax.result_info = "result[2].layers[1]['gate']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>}, tensor<1024x1024xf32> {jax.result_info = "result[2].layers[1]['key']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>}, tensor<1024xf32> {jax.result_info = "result[2].layers[1]['norm_attention']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<1024xf32> {jax.result_info = "result[2].layers[1]['norm_mlp']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<1024x1024xf32> {jax.result_info = "result[2].layers[1]['out']", sdy.sharding = #sdy.sharding<@mesh, [{"tensor"}, {"fsdp"}]>}, tensor<1024x1024xf32> {jax.result_info = "result[2].layers[1]['query']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>}, tensor<1024x4096xf32> {jax.result_info = "result[2].layers[1]['up']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>}, tensor<1024x1024xf32> {jax.result_info = "result[2].layers[1]['value']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"tensor"}]>}, tensor<f32> {jax.result_info = "result[3]", sdy.sharding = #sdy.sharding<@mesh, []>}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<64x512xi32>
    %1 = stablehlo.compare LT, %arg57, %0, SIGNED : (tensor<64x512xi32>, tensor<64x512xi32>) -> tensor<64x512xi1>
    %c_0 = stablehlo.constant dense<32768> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<64x512xi32>
    %3 = stablehlo.add %arg57, %2 : tensor<64x512xi32>
    %4 = stablehlo.select %1, %3, %arg57 : tensor<64x512xi1>, tensor<64x512xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<64x512xi32>) -> tensor<64x512x1xi32>
    %6 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1024>}> : (tensor<32768x1024xf32>, tensor<64x512x1xi32>) -> tensor<64x512x1024xf32>
    %7 = sdy.sharding_constraint %6 <@mesh, [{"data", "fsdp"}, {}, {}]> : tensor<64x512x1024xf32>
    %8 = stablehlo.multiply %7, %7 : tensor<64x512x1024xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %9 = stablehlo.reduce(%8 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<64x512x1024xf32>, tensor<f32>) -> tensor<64x512xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<64x512xf32>) -> tensor<64x512x1xf32>
    %cst_1 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<64x512x1xf32>
    %12 = stablehlo.divide %10, %11 : tensor<64x512x1xf32>
    %cst_2 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<64x512x1xf32>
    %14 = stablehlo.add %12, %13 : tensor<64x512x1xf32>
    %15 = stablehlo.rsqrt %14 : tensor<64x512x1xf32>
    %16 = stablehlo.divide %15, %14 : tensor<64x512x1xf32>
    %cst_3 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<64x512x1xf32>
    %18 = stablehlo.multiply %17, %16 : tensor<64x512x1xf32>
    %19 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2] : (tensor<64x512x1xf32>) -> tensor<64x512x1024xf32>
    %20 = stablehlo.multiply %7, %19 : tensor<64x512x1024xf32>
    %21 = stablehlo.broadcast_in_dim %arg4, dims = [2] : (tensor<1024xf32>) -> tensor<1x1x1024xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2] : (tensor<1x1x1024xf32>) -> tensor<64x512x1024xf32>
    %23 = stablehlo.multiply %20, %22 : tensor<64x512x1024xf32>
    %24 = stablehlo.dot_general %23, %arg7, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<1024x1024xf32>) -> tensor<64x512x1024xf32>
    %25 = stablehlo.reshape %24 : (tensor<64x512x1024xf32>) -> tensor<64x512x16x64xf32>
    %26 = sdy.sharding_constraint %25 <@mesh, [{"data", "fsdp"}, {}, {"tensor"}, {}]> : tensor<64x512x16x64xf32>
    %27 = stablehlo.iota dim = 0 : tensor<512xi32>
    %28 = stablehlo.broadcast_in_dim %27, dims = [0] : (tensor<512xi32>) -> tensor<512x1x1xi32>
    %29 = stablehlo.iota dim = 0 : tensor<32xi32>
    %30 = stablehlo.convert %29 : (tensor<32xi32>) -> tensor<32xf32>
    %cst_4 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %31 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %32 = stablehlo.divide %30, %31 : tensor<32xf32>
    %cst_5 = stablehlo.constant dense<1.000000e+04> : tensor<f32>
    %33 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %34 = stablehlo.power %33, %32 : tensor<32xf32>
    %35 = stablehlo.convert %28 : (tensor<512x1x1xi32>) -> tensor<512x1x1xf32>
    %36 = stablehlo.broadcast_in_dim %34, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %37 = stablehlo.broadcast_in_dim %35, dims = [0, 1, 2] : (tensor<512x1x1xf32>) -> tensor<512x1x32xf32>
    %38 = stablehlo.broadcast_in_dim %36, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<512x1x32xf32>
    %39 = stablehlo.divide %37, %38 : tensor<512x1x32xf32>
    %40 = stablehlo.slice %26 [0:64, 0:512, 0:16, 0:32] : (tensor<64x512x16x64xf32>) -> tensor<64x512x16x32xf32>
    %41 = stablehlo.slice %26 [0:64, 0:512, 0:16, 32:64] : (tensor<64x512x16x64xf32>) -> tensor<64x512x16x32xf32>
    %42 = stablehlo.cosine %39 : tensor<512x1x32xf32>
    %43 = stablehlo.sine %39 : tensor<512x1x32xf32>
    %44 = stablehlo.broadcast_in_dim %42, dims = [1, 2, 3] : (tensor<512x1x32xf32>) -> tensor<1x512x1x32xf32>
    %45 = stablehlo.broadcast_in_dim %44, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %46 = stablehlo.multiply %40, %45 : tensor<64x512x16x32xf32>
    %47 = stablehlo.broadcast_in_dim %43, dims = [1, 2, 3] : (tensor<512x1x32xf32>) -> tensor<1x512x1x32xf32>
    %48 = stablehlo.broadcast_in_dim %47, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %49 = stablehlo.multiply %41, %48 : tensor<64x512x16x32xf32>
    %50 = stablehlo.subtract %46, %49 : tensor<64x512x16x32xf32>
    %51 = stablehlo.broadcast_in_dim %42, dims = [1, 2, 3] : (tensor<512x1x32xf32>) -> tensor<1x512x1x32xf32>
    %52 = stablehlo.broadcast_in_dim %51, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %53 = stablehlo.multiply %41, %52 : tensor<64x512x16x32xf32>
    %54 = stablehlo.broadcast_in_dim %43, dims = [1, 2, 3] : (tensor<512x1x32xf32>) -> tensor<1x512x1x32xf32>
    %55 = stablehlo.broadcast_in_dim %54, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %56 = stablehlo.multiply %40, %55 : tensor<64x512x16x32xf32>
    %57 = stablehlo.add %53, %56 : tensor<64x512x16x32xf32>
    %58 = stablehlo.concatenate %50, %57, dim = 3 : (tensor<64x512x16x32xf32>, tensor<64x512x16x32xf32>) -> tensor<64x512x16x64xf32>
    %59 = stablehlo.dot_general %23, %arg3, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<1024x1024xf32>) -> tensor<64x512x1024xf32>
    %60 = stablehlo.reshape %59 : (tensor<64x512x1024xf32>) -> tensor<64x512x16x64xf32>
    %61 = sdy.sharding_constraint %60 <@mesh, [{"data", "fsdp"}, {}, {"tensor"}, {}]> : tensor<64x512x16x64xf32>
    %62 = stablehlo.iota dim = 0 : tensor<512xi32>
    %63 = stablehlo.broadcast_in_dim %62, dims = [0] : (tensor<512xi32>) -> tensor<512x1x1xi32>
    %64 = stablehlo.iota dim = 0 : tensor<32xi32>
    %65 = stablehlo.convert %64 : (tensor<32xi32>) -> tensor<32xf32>
    %cst_6 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %66 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %67 = stablehlo.divide %65, %66 : tensor<32xf32>
    %cst_7 = stablehlo.constant dense<1.000000e+04> : tensor<f32>
    %68 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %69 = stablehlo.power %68, %67 : tensor<32xf32>
    %70 = stablehlo.convert %63 : (tensor<512x1x1xi32>) -> tensor<512x1x1xf32>
    %71 = stablehlo.broadcast_in_dim %69, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %72 = stablehlo.broadcast_in_dim %70, dims = [0, 1, 2] : (tensor<512x1x1xf32>) -> tensor<512x1x32xf32>
    %73 = stablehlo.broadcast_in_dim %71, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<512x1x32xf32>
    %74 = stablehlo.divide %72, %73 : tensor<512x1x32xf32>
    %75 = stablehlo.slice %61 [0:64, 0:512, 0:16, 0:32] : (tensor<64x512x16x64xf32>) -> tensor<64x512x16x32xf32>
    %76 = stablehlo.slice %61 [0:64, 0:512, 0:16, 32:64] : (tensor<64x512x16x64xf32>) -> tensor<64x512x16x32xf32>
    %77 = stablehlo.cosine %74 : tensor<512x1x32xf32>
    %78 = stablehlo.sine %74 : tensor<512x1x32xf32>
    %79 = stablehlo.broadcast_in_dim %77, dims = [1, 2, 3] : (tensor<512x1x32xf32>) -> tensor<1x512x1x32xf32>
    %80 = stablehlo.broadcast_in_dim %79, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %81 = stablehlo.multiply %75, %80 : tensor<64x512x16x32xf32>
    %82 = stablehlo.broadcast_in_dim %78, dims = [1, 2, 3] : (tensor<512x1x32xf32>) -> tensor<1x512x1x32xf32>
    %83 = stablehlo.broadcast_in_dim %82, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %84 = stablehlo.multiply %76, %83 : tensor<64x512x16x32xf32>
    %85 = stablehlo.subtract %81, %84 : tensor<64x512x16x32xf32>
    %86 = stablehlo.broadcast_in_dim %77, dims = [1, 2, 3] : (tensor<512x1x32xf32>) -> tensor<1x512x1x32xf32>
    %87 = stablehlo.broadcast_in_dim %86, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %88 = stablehlo.multiply %76, %87 : tensor<64x512x16x32xf32>
    %89 = stablehlo.broadcast_in_dim %78, dims = [1, 2, 3] : (tensor<512x1x32xf32>) -> tensor<1x512x1x32xf32>
    %90 = stablehlo.broadcast_in_dim %89, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %91 = stablehlo.multiply %75, %90 : tensor<64x512x16x32xf32>
    %92 = stablehlo.add %88, %91 : tensor<64x512x16x32xf32>
    %93 = stablehlo.concatenate %85, %92, dim = 3 : (tensor<64x512x16x32xf32>, tensor<64x512x16x32xf32>) -> tensor<64x512x16x64xf32>
    %94 = stablehlo.dot_general %58, %93, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<64x512x16x64xf32>, tensor<64x512x16x64xf32>) -> tensor<64x16x512x512xf32>
    %cst_8 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %95 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<64x16x512x512xf32>
    %96 = stablehlo.divide %94, %95 : tensor<64x16x512x512xf32>
    %c_9 = stablehlo.constant dense<true> : tensor<i1>
    %97 = stablehlo.broadcast_in_dim %c_9, dims = [] : (tensor<i1>) -> tensor<512x512xi1>
    %98 = call @tril(%97) : (tensor<512x512xi1>) -> tensor<512x512xi1>
    %cst_10 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %99:2 = call @_where(%98, %96, %cst_10) : (tensor<512x512xi1>, tensor<64x16x512x512xf32>, tensor<f32>) -> (tensor<64x16x512x512xf32>, tensor<64x16x512x512xi1>)
    %cst_11 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %100 = stablehlo.reduce(%99#0 init: %cst_11) applies stablehlo.maximum across dimensions = [3] : (tensor<64x16x512x512xf32>, tensor<f32>) -> tensor<64x16x512xf32>
    %cst_12 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %101 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<64x16x512xf32>
    %102 = stablehlo.maximum %101, %100 : tensor<64x16x512xf32>
    %103 = stablehlo.broadcast_in_dim %102, dims = [0, 1, 2] : (tensor<64x16x512xf32>) -> tensor<64x16x512x1xf32>
    %104 = stablehlo.broadcast_in_dim %103, dims = [0, 1, 2, 3] : (tensor<64x16x512x1xf32>) -> tensor<64x16x512x512xf32>
    %105 = stablehlo.subtract %99#0, %104 : tensor<64x16x512x512xf32>
    %106 = stablehlo.exponential %105 : tensor<64x16x512x512xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %107 = stablehlo.reduce(%106 init: %cst_13) applies stablehlo.add across dimensions = [3] : (tensor<64x16x512x512xf32>, tensor<f32>) -> tensor<64x16x512xf32>
    %108 = stablehlo.broadcast_in_dim %107, dims = [0, 1, 2] : (tensor<64x16x512xf32>) -> tensor<64x16x512x1xf32>
    %109 = stablehlo.broadcast_in_dim %108, dims = [0, 1, 2, 3] : (tensor<64x16x512x1xf32>) -> tensor<64x16x512x512xf32>
    %110 = stablehlo.divide %106, %109 : tensor<64x16x512x512xf32>
    %111 = stablehlo.multiply %108, %108 : tensor<64x16x512x1xf32>
    %cst_14 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %112 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<64x16x512x1xf32>
    %113 = stablehlo.divide %112, %111 : tensor<64x16x512x1xf32>
    %114 = stablehlo.dot_general %23, %arg9, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<1024x1024xf32>) -> tensor<64x512x1024xf32>
    %115 = stablehlo.reshape %114 : (tensor<64x512x1024xf32>) -> tensor<64x512x16x64xf32>
    %116 = sdy.sharding_constraint %115 <@mesh, [{"data", "fsdp"}, {}, {"tensor"}, {}]> : tensor<64x512x16x64xf32>
    %117 = stablehlo.dot_general %116, %110, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<64x512x16x64xf32>, tensor<64x16x512x512xf32>) -> tensor<64x16x64x512xf32>
    %118 = stablehlo.transpose %117, dims = [0, 3, 1, 2] : (tensor<64x16x64x512xf32>) -> tensor<64x512x16x64xf32>
    %119 = stablehlo.reshape %118 : (tensor<64x512x16x64xf32>) -> tensor<64x512x1024xf32>
    %120 = stablehlo.dot_general %119, %arg6, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<1024x1024xf32>) -> tensor<64x512x1024xf32>
    %121 = stablehlo.add %7, %120 : tensor<64x512x1024xf32>
    %122 = stablehlo.multiply %121, %121 : tensor<64x512x1024xf32>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %123 = stablehlo.reduce(%122 init: %cst_15) applies stablehlo.add across dimensions = [2] : (tensor<64x512x1024xf32>, tensor<f32>) -> tensor<64x512xf32>
    %124 = stablehlo.broadcast_in_dim %123, dims = [0, 1] : (tensor<64x512xf32>) -> tensor<64x512x1xf32>
    %cst_16 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %125 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<64x512x1xf32>
    %126 = stablehlo.divide %124, %125 : tensor<64x512x1xf32>
    %cst_17 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %127 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<64x512x1xf32>
    %128 = stablehlo.add %126, %127 : tensor<64x512x1xf32>
    %129 = stablehlo.rsqrt %128 : tensor<64x512x1xf32>
    %130 = stablehlo.divide %129, %128 : tensor<64x512x1xf32>
    %cst_18 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %131 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<64x512x1xf32>
    %132 = stablehlo.multiply %131, %130 : tensor<64x512x1xf32>
    %133 = stablehlo.broadcast_in_dim %129, dims = [0, 1, 2] : (tensor<64x512x1xf32>) -> tensor<64x512x1024xf32>
    %134 = stablehlo.multiply %121, %133 : tensor<64x512x1024xf32>
    %135 = stablehlo.broadcast_in_dim %arg5, dims = [2] : (tensor<1024xf32>) -> tensor<1x1x1024xf32>
    %136 = stablehlo.broadcast_in_dim %135, dims = [0, 1, 2] : (tensor<1x1x1024xf32>) -> tensor<64x512x1024xf32>
    %137 = stablehlo.multiply %134, %136 : tensor<64x512x1024xf32>
    %138 = stablehlo.dot_general %137, %arg2, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<1024x4096xf32>) -> tensor<64x512x4096xf32>
    %139:3 = call @silu(%138) : (tensor<64x512x4096xf32>) -> (tensor<64x512x4096xf32>, tensor<64x512x4096xf32>, tensor<64x512x4096xf32>)
    %140 = stablehlo.dot_general %137, %arg8, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<1024x4096xf32>) -> tensor<64x512x4096xf32>
    %141 = stablehlo.multiply %139#0, %140 : tensor<64x512x4096xf32>
    %142 = sdy.sharding_constraint %141 <@mesh, [{"data", "fsdp"}, {?}, {"tensor"}]> : tensor<64x512x4096xf32>
    %143 = stablehlo.dot_general %142, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x512x4096xf32>, tensor<4096x1024xf32>) -> tensor<64x512x1024xf32>
    %144 = stablehlo.add %121, %143 : tensor<64x512x1024xf32>
    %145 = sdy.sharding_constraint %144 <@mesh, [{"data", "fsdp"}, {}, {}]> : tensor<64x512x1024xf32>
    %146 = stablehlo.multiply %145, %145 : tensor<64x512x1024xf32>
    %cst_19 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %147 = stablehlo.reduce(%146 init: %cst_19) applies stablehlo.add across dimensions = [2] : (tensor<64x512x1024xf32>, tensor<f32>) -> tensor<64x512xf32>
    %148 = stablehlo.broadcast_in_dim %147, dims = [0, 1] : (tensor<64x512xf32>) -> tensor<64x512x1xf32>
    %cst_20 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %149 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<64x512x1xf32>
    %150 = stablehlo.divide %148, %149 : tensor<64x512x1xf32>
    %cst_21 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %151 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<64x512x1xf32>
    %152 = stablehlo.add %150, %151 : tensor<64x512x1xf32>
    %153 = stablehlo.rsqrt %152 : tensor<64x512x1xf32>
    %154 = stablehlo.divide %153, %152 : tensor<64x512x1xf32>
    %cst_22 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %155 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<64x512x1xf32>
    %156 = stablehlo.multiply %155, %154 : tensor<64x512x1xf32>
    %157 = stablehlo.broadcast_in_dim %153, dims = [0, 1, 2] : (tensor<64x512x1xf32>) -> tensor<64x512x1024xf32>
    %158 = stablehlo.multiply %145, %157 : tensor<64x512x1024xf32>
    %159 = stablehlo.broadcast_in_dim %arg13, dims = [2] : (tensor<1024xf32>) -> tensor<1x1x1024xf32>
    %160 = stablehlo.broadcast_in_dim %159, dims = [0, 1, 2] : (tensor<1x1x1024xf32>) -> tensor<64x512x1024xf32>
    %161 = stablehlo.multiply %158, %160 : tensor<64x512x1024xf32>
    %162 = stablehlo.dot_general %161, %arg16, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<1024x1024xf32>) -> tensor<64x512x1024xf32>
    %163 = stablehlo.reshape %162 : (tensor<64x512x1024xf32>) -> tensor<64x512x16x64xf32>
    %164 = sdy.sharding_constraint %163 <@mesh, [{"data", "fsdp"}, {}, {"tensor"}, {}]> : tensor<64x512x16x64xf32>
    %165 = stablehlo.iota dim = 0 : tensor<512xi32>
    %166 = stablehlo.broadcast_in_dim %165, dims = [0] : (tensor<512xi32>) -> tensor<512x1x1xi32>
    %167 = stablehlo.iota dim = 0 : tensor<32xi32>
    %168 = stablehlo.convert %167 : (tensor<32xi32>) -> tensor<32xf32>
    %cst_23 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %169 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %170 = stablehlo.divide %168, %169 : tensor<32xf32>
    %cst_24 = stablehlo.constant dense<1.000000e+04> : tensor<f32>
    %171 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %172 = stablehlo.power %171, %170 : tensor<32xf32>
    %173 = stablehlo.convert %166 : (tensor<512x1x1xi32>) -> tensor<512x1x1xf32>
    %174 = stablehlo.broadcast_in_dim %172, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %175 = stablehlo.broadcast_in_dim %173, dims = [0, 1, 2] : (tensor<512x1x1xf32>) -> tensor<512x1x32xf32>
    %176 = stablehlo.broadcast_in_dim %174, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<512x1x32xf32>
    %177 = stablehlo.divide %175, %176 : tensor<512x1x32xf32>
    %178 = stablehlo.slice %164 [0:64, 0:512, 0:16, 0:32] : (tensor<64x512x16x64xf32>) -> tensor<64x512x16x32xf32>
    %179 = stablehlo.slice %164 [0:64, 0:512, 0:16, 32:64] : (tensor<64x512x16x64xf32>) -> tensor<64x512x16x32xf32>
    %180 = stablehlo.cosine %177 : tensor<512x1x32xf32>
    %181 = stablehlo.sine %177 : tensor<512x1x32xf32>
    %182 = stablehlo.broadcast_in_dim %180, dims = [1, 2, 3] : (tensor<512x1x32xf32>) -> tensor<1x512x1x32xf32>
    %183 = stablehlo.broadcast_in_dim %182, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %184 = stablehlo.multiply %178, %183 : tensor<64x512x16x32xf32>
    %185 = stablehlo.broadcast_in_dim %181, dims = [1, 2, 3] : (tensor<512x1x32xf32>) -> tensor<1x512x1x32xf32>
    %186 = stablehlo.broadcast_in_dim %185, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %187 = stablehlo.multiply %179, %186 : tensor<64x512x16x32xf32>
    %188 = stablehlo.subtract %184, %187 : tensor<64x512x16x32xf32>
    %189 = stablehlo.broadcast_in_dim %180, dims = [1, 2, 3] : (tensor<512x1x32xf32>) -> tensor<1x512x1x32xf32>
    %190 = stablehlo.broadcast_in_dim %189, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %191 = stablehlo.multiply %179, %190 : tensor<64x512x16x32xf32>
    %192 = stablehlo.broadcast_in_dim %181, dims = [1, 2, 3] : (tensor<512x1x32xf32>) -> tensor<1x512x1x32xf32>
    %193 = stablehlo.broadcast_in_dim %192, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %194 = stablehlo.multiply %178, %193 : tensor<64x512x16x32xf32>
    %195 = stablehlo.add %191, %194 : tensor<64x512x16x32xf32>
    %196 = stablehlo.concatenate %188, %195, dim = 3 : (tensor<64x512x16x32xf32>, tensor<64x512x16x32xf32>) -> tensor<64x512x16x64xf32>
    %197 = stablehlo.dot_general %161, %arg12, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<1024x1024xf32>) -> tensor<64x512x1024xf32>
    %198 = stablehlo.reshape %197 : (tensor<64x512x1024xf32>) -> tensor<64x512x16x64xf32>
    %199 = sdy.sharding_constraint %198 <@mesh, [{"data", "fsdp"}, {}, {"tensor"}, {}]> : tensor<64x512x16x64xf32>
    %200 = stablehlo.iota dim = 0 : tensor<512xi32>
    %201 = stablehlo.broadcast_in_dim %200, dims = [0] : (tensor<512xi32>) -> tensor<512x1x1xi32>
    %202 = stablehlo.iota dim = 0 : tensor<32xi32>
    %203 = stablehlo.convert %202 : (tensor<32xi32>) -> tensor<32xf32>
    %cst_25 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %204 = stablehlo.broadcast_in_dim %cst_25, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %205 = stablehlo.divide %203, %204 : tensor<32xf32>
    %cst_26 = stablehlo.constant dense<1.000000e+04> : tensor<f32>
    %206 = stablehlo.broadcast_in_dim %cst_26, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %207 = stablehlo.power %206, %205 : tensor<32xf32>
    %208 = stablehlo.convert %201 : (tensor<512x1x1xi32>) -> tensor<512x1x1xf32>
    %209 = stablehlo.broadcast_in_dim %207, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %210 = stablehlo.broadcast_in_dim %208, dims = [0, 1, 2] : (tensor<512x1x1xf32>) -> tensor<512x1x32xf32>
    %211 = stablehlo.broadcast_in_dim %209, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<512x1x32xf32>
    %212 = stablehlo.divide %210, %211 : tensor<512x1x32xf32>
    %213 = stablehlo.slice %199 [0:64, 0:512, 0:16, 0:32] : (tensor<64x512x16x64xf32>) -> tensor<64x512x16x32xf32>
    %214 = stablehlo.slice %199 [0:64, 0:512, 0:16, 32:64] : (tensor<64x512x16x64xf32>) -> tensor<64x512x16x32xf32>
    %215 = stablehlo.cosine %212 : tensor<512x1x32xf32>
    %216 = stablehlo.sine %212 : tensor<512x1x32xf32>
    %217 = stablehlo.broadcast_in_dim %215, dims = [1, 2, 3] : (tensor<512x1x32xf32>) -> tensor<1x512x1x32xf32>
    %218 = stablehlo.broadcast_in_dim %217, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %219 = stablehlo.multiply %213, %218 : tensor<64x512x16x32xf32>
    %220 = stablehlo.broadcast_in_dim %216, dims = [1, 2, 3] : (tensor<512x1x32xf32>) -> tensor<1x512x1x32xf32>
    %221 = stablehlo.broadcast_in_dim %220, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %222 = stablehlo.multiply %214, %221 : tensor<64x512x16x32xf32>
    %223 = stablehlo.subtract %219, %222 : tensor<64x512x16x32xf32>
    %224 = stablehlo.broadcast_in_dim %215, dims = [1, 2, 3] : (tensor<512x1x32xf32>) -> tensor<1x512x1x32xf32>
    %225 = stablehlo.broadcast_in_dim %224, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %226 = stablehlo.multiply %214, %225 : tensor<64x512x16x32xf32>
    %227 = stablehlo.broadcast_in_dim %216, dims = [1, 2, 3] : (tensor<512x1x32xf32>) -> tensor<1x512x1x32xf32>
    %228 = stablehlo.broadcast_in_dim %227, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %229 = stablehlo.multiply %213, %228 : tensor<64x512x16x32xf32>
    %230 = stablehlo.add %226, %229 : tensor<64x512x16x32xf32>
    %231 = stablehlo.concatenate %223, %230, dim = 3 : (tensor<64x512x16x32xf32>, tensor<64x512x16x32xf32>) -> tensor<64x512x16x64xf32>
    %232 = stablehlo.dot_general %196, %231, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<64x512x16x64xf32>, tensor<64x512x16x64xf32>) -> tensor<64x16x512x512xf32>
    %cst_27 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %233 = stablehlo.broadcast_in_dim %cst_27, dims = [] : (tensor<f32>) -> tensor<64x16x512x512xf32>
    %234 = stablehlo.divide %232, %233 : tensor<64x16x512x512xf32>
    %c_28 = stablehlo.constant dense<true> : tensor<i1>
    %235 = stablehlo.broadcast_in_dim %c_28, dims = [] : (tensor<i1>) -> tensor<512x512xi1>
    %236 = call @tril(%235) : (tensor<512x512xi1>) -> tensor<512x512xi1>
    %cst_29 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %237:2 = call @_where(%236, %234, %cst_29) : (tensor<512x512xi1>, tensor<64x16x512x512xf32>, tensor<f32>) -> (tensor<64x16x512x512xf32>, tensor<64x16x512x512xi1>)
    %cst_30 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %238 = stablehlo.reduce(%237#0 init: %cst_30) applies stablehlo.maximum across dimensions = [3] : (tensor<64x16x512x512xf32>, tensor<f32>) -> tensor<64x16x512xf32>
    %cst_31 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %239 = stablehlo.broadcast_in_dim %cst_31, dims = [] : (tensor<f32>) -> tensor<64x16x512xf32>
    %240 = stablehlo.maximum %239, %238 : tensor<64x16x512xf32>
    %241 = stablehlo.broadcast_in_dim %240, dims = [0, 1, 2] : (tensor<64x16x512xf32>) -> tensor<64x16x512x1xf32>
    %242 = stablehlo.broadcast_in_dim %241, dims = [0, 1, 2, 3] : (tensor<64x16x512x1xf32>) -> tensor<64x16x512x512xf32>
    %243 = stablehlo.subtract %237#0, %242 : tensor<64x16x512x512xf32>
    %244 = stablehlo.exponential %243 : tensor<64x16x512x512xf32>
    %cst_32 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %245 = stablehlo.reduce(%244 init: %cst_32) applies stablehlo.add across dimensions = [3] : (tensor<64x16x512x512xf32>, tensor<f32>) -> tensor<64x16x512xf32>
    %246 = stablehlo.broadcast_in_dim %245, dims = [0, 1, 2] : (tensor<64x16x512xf32>) -> tensor<64x16x512x1xf32>
    %247 = stablehlo.broadcast_in_dim %246, dims = [0, 1, 2, 3] : (tensor<64x16x512x1xf32>) -> tensor<64x16x512x512xf32>
    %248 = stablehlo.divide %244, %247 : tensor<64x16x512x512xf32>
    %249 = stablehlo.multiply %246, %246 : tensor<64x16x512x1xf32>
    %cst_33 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %250 = stablehlo.broadcast_in_dim %cst_33, dims = [] : (tensor<f32>) -> tensor<64x16x512x1xf32>
    %251 = stablehlo.divide %250, %249 : tensor<64x16x512x1xf32>
    %252 = stablehlo.dot_general %161, %arg18, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<1024x1024xf32>) -> tensor<64x512x1024xf32>
    %253 = stablehlo.reshape %252 : (tensor<64x512x1024xf32>) -> tensor<64x512x16x64xf32>
    %254 = sdy.sharding_constraint %253 <@mesh, [{"data", "fsdp"}, {}, {"tensor"}, {}]> : tensor<64x512x16x64xf32>
    %255 = stablehlo.dot_general %254, %248, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<64x512x16x64xf32>, tensor<64x16x512x512xf32>) -> tensor<64x16x64x512xf32>
    %256 = stablehlo.transpose %255, dims = [0, 3, 1, 2] : (tensor<64x16x64x512xf32>) -> tensor<64x512x16x64xf32>
    %257 = stablehlo.reshape %256 : (tensor<64x512x16x64xf32>) -> tensor<64x512x1024xf32>
    %258 = stablehlo.dot_general %257, %arg15, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<1024x1024xf32>) -> tensor<64x512x1024xf32>
    %259 = stablehlo.add %145, %258 : tensor<64x512x1024xf32>
    %260 = stablehlo.multiply %259, %259 : tensor<64x512x1024xf32>
    %cst_34 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %261 = stablehlo.reduce(%260 init: %cst_34) applies stablehlo.add across dimensions = [2] : (tensor<64x512x1024xf32>, tensor<f32>) -> tensor<64x512xf32>
    %262 = stablehlo.broadcast_in_dim %261, dims = [0, 1] : (tensor<64x512xf32>) -> tensor<64x512x1xf32>
    %cst_35 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %263 = stablehlo.broadcast_in_dim %cst_35, dims = [] : (tensor<f32>) -> tensor<64x512x1xf32>
    %264 = stablehlo.divide %262, %263 : tensor<64x512x1xf32>
    %cst_36 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %265 = stablehlo.broadcast_in_dim %cst_36, dims = [] : (tensor<f32>) -> tensor<64x512x1xf32>
    %266 = stablehlo.add %264, %265 : tensor<64x512x1xf32>
    %267 = stablehlo.rsqrt %266 : tensor<64x512x1xf32>
    %268 = stablehlo.divide %267, %266 : tensor<64x512x1xf32>
    %cst_37 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %269 = stablehlo.broadcast_in_dim %cst_37, dims = [] : (tensor<f32>) -> tensor<64x512x1xf32>
    %270 = stablehlo.multiply %269, %268 : tensor<64x512x1xf32>
    %271 = stablehlo.broadcast_in_dim %267, dims = [0, 1, 2] : (tensor<64x512x1xf32>) -> tensor<64x512x1024xf32>
    %272 = stablehlo.multiply %259, %271 : tensor<64x512x1024xf32>
    %273 = stablehlo.broadcast_in_dim %arg14, dims = [2] : (tensor<1024xf32>) -> tensor<1x1x1024xf32>
    %274 = stablehlo.broadcast_in_dim %273, dims = [0, 1, 2] : (tensor<1x1x1024xf32>) -> tensor<64x512x1024xf32>
    %275 = stablehlo.multiply %272, %274 : tensor<64x512x1024xf32>
    %276 = stablehlo.dot_general %275, %arg11, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<1024x4096xf32>) -> tensor<64x512x4096xf32>
    %277:3 = call @silu(%276) : (tensor<64x512x4096xf32>) -> (tensor<64x512x4096xf32>, tensor<64x512x4096xf32>, tensor<64x512x4096xf32>)
    %278 = stablehlo.dot_general %275, %arg17, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<1024x4096xf32>) -> tensor<64x512x4096xf32>
    %279 = stablehlo.multiply %277#0, %278 : tensor<64x512x4096xf32>
    %280 = sdy.sharding_constraint %279 <@mesh, [{"data", "fsdp"}, {?}, {"tensor"}]> : tensor<64x512x4096xf32>
    %281 = stablehlo.dot_general %280, %arg10, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x512x4096xf32>, tensor<4096x1024xf32>) -> tensor<64x512x1024xf32>
    %282 = stablehlo.add %259, %281 : tensor<64x512x1024xf32>
    %283 = sdy.sharding_constraint %282 <@mesh, [{"data", "fsdp"}, {}, {}]> : tensor<64x512x1024xf32>
    %284 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<32768x1024xf32>) -> tensor<1024x32768xf32>
    %285 = stablehlo.dot_general %283, %284, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<1024x32768xf32>) -> tensor<64x512x32768xf32>
    %286 = sdy.sharding_constraint %285 <@mesh, [{"data", "fsdp"}, {}, {"tensor"}]> : tensor<64x512x32768xf32>
    %287 = stablehlo.slice %286 [0:64, 0:511, 0:32768] : (tensor<64x512x32768xf32>) -> tensor<64x511x32768xf32>
    %288:3 = call @log_softmax(%287) : (tensor<64x511x32768xf32>) -> (tensor<64x511x32768xf32>, tensor<64x511x32768xf32>, tensor<64x511x1xf32>)
    %289 = stablehlo.slice %arg57 [0:64, 1:512] : (tensor<64x512xi32>) -> tensor<64x511xi32>
    %290 = stablehlo.broadcast_in_dim %289, dims = [0, 1] : (tensor<64x511xi32>) -> tensor<64x511x1xi32>
    %291:2 = call @take_along_axis(%288#0, %290) : (tensor<64x511x32768xf32>, tensor<64x511x1xi32>) -> (tensor<64x511x1xf32>, tensor<64x511x1x1xi32>)
    %cst_38 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %292 = stablehlo.reduce(%291#0 init: %cst_38) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<64x511x1xf32>, tensor<f32>) -> tensor<f32>
    %cst_39 = stablehlo.constant dense<3.270400e+04> : tensor<f32>
    %293 = stablehlo.divide %292, %cst_39 : tensor<f32>
    %294 = stablehlo.negate %293 : tensor<f32>
    %cst_40 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %295 = stablehlo.negate %cst_40 : tensor<f32>
    %cst_41 = stablehlo.constant dense<3.270400e+04> : tensor<f32>
    %296 = stablehlo.divide %295, %cst_41 : tensor<f32>
    %297 = stablehlo.broadcast_in_dim %296, dims = [] : (tensor<f32>) -> tensor<64x511x1xf32>
    %298 = call @take_along_axis_0(%291#1, %297) : (tensor<64x511x1x1xi32>, tensor<64x511x1xf32>) -> tensor<64x511x32768xf32>
    %299 = call @log_softmax_1(%288#1, %288#2, %298) : (tensor<64x511x32768xf32>, tensor<64x511x1xf32>, tensor<64x511x32768xf32>) -> tensor<64x511x32768xf32>
    %cst_42 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %300 = stablehlo.pad %299, %cst_42, low = [0, 0, 0], high = [0, 1, 0], interior = [0, 0, 0] : (tensor<64x511x32768xf32>, tensor<f32>) -> tensor<64x512x32768xf32>
    %301 = sdy.sharding_constraint %300 <@mesh, [{"data", "fsdp"}, {}, {"tensor"}]> : tensor<64x512x32768xf32>
    %302 = stablehlo.dot_general %301, %283, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<64x512x32768xf32>, tensor<64x512x1024xf32>) -> tensor<32768x1024xf32>
    %303 = stablehlo.transpose %302, dims = [1, 0] : (tensor<32768x1024xf32>) -> tensor<1024x32768xf32>
    %304 = stablehlo.dot_general %301, %284, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<64x512x32768xf32>, tensor<1024x32768xf32>) -> tensor<64x512x1024xf32>
    %305 = stablehlo.transpose %303, dims = [1, 0] : (tensor<1024x32768xf32>) -> tensor<32768x1024xf32>
    %306 = sdy.sharding_constraint %304 <@mesh, [{"data", "fsdp"}, {}, {}]> : tensor<64x512x1024xf32>
    %307 = stablehlo.dot_general %306, %280, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<64x512x4096xf32>) -> tensor<1024x4096xf32>
    %308 = stablehlo.transpose %307, dims = [1, 0] : (tensor<1024x4096xf32>) -> tensor<4096x1024xf32>
    %309 = stablehlo.dot_general %306, %arg10, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<4096x1024xf32>) -> tensor<64x512x4096xf32>
    %310 = sdy.sharding_constraint %309 <@mesh, [{"data", "fsdp"}, {?}, {"tensor"}]> : tensor<64x512x4096xf32>
    %311 = stablehlo.multiply %277#0, %310 : tensor<64x512x4096xf32>
    %312 = stablehlo.multiply %310, %278 : tensor<64x512x4096xf32>
    %313 = stablehlo.dot_general %311, %275, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<64x512x4096xf32>, tensor<64x512x1024xf32>) -> tensor<4096x1024xf32>
    %314 = stablehlo.transpose %313, dims = [1, 0] : (tensor<4096x1024xf32>) -> tensor<1024x4096xf32>
    %315 = stablehlo.dot_general %311, %arg17, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<64x512x4096xf32>, tensor<1024x4096xf32>) -> tensor<64x512x1024xf32>
    %316 = call @silu_2(%277#1, %277#2, %276, %312) : (tensor<64x512x4096xf32>, tensor<64x512x4096xf32>, tensor<64x512x4096xf32>, tensor<64x512x4096xf32>) -> tensor<64x512x4096xf32>
    %317 = stablehlo.dot_general %316, %275, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<64x512x4096xf32>, tensor<64x512x1024xf32>) -> tensor<4096x1024xf32>
    %318 = stablehlo.transpose %317, dims = [1, 0] : (tensor<4096x1024xf32>) -> tensor<1024x4096xf32>
    %319 = stablehlo.dot_general %316, %arg11, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<64x512x4096xf32>, tensor<1024x4096xf32>) -> tensor<64x512x1024xf32>
    %320 = stablehlo.add %315, %319 : tensor<64x512x1024xf32>
    %321 = stablehlo.multiply %272, %320 : tensor<64x512x1024xf32>
    %cst_43 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %322 = stablehlo.reduce(%321 init: %cst_43) applies stablehlo.add across dimensions = [0, 1] : (tensor<64x512x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %323 = stablehlo.reshape %322 : (tensor<1024xf32>) -> tensor<1x1x1024xf32>
    %324 = stablehlo.broadcast_in_dim %273, dims = [0, 1, 2] : (tensor<1x1x1024xf32>) -> tensor<64x512x1024xf32>
    %325 = stablehlo.multiply %320, %324 : tensor<64x512x1024xf32>
    %cst_44 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %326 = stablehlo.reduce(%323 init: %cst_44) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %327 = stablehlo.multiply %259, %325 : tensor<64x512x1024xf32>
    %cst_45 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %328 = stablehlo.reduce(%327 init: %cst_45) applies stablehlo.add across dimensions = [2] : (tensor<64x512x1024xf32>, tensor<f32>) -> tensor<64x512xf32>
    %329 = stablehlo.reshape %328 : (tensor<64x512xf32>) -> tensor<64x512x1xf32>
    %330 = stablehlo.broadcast_in_dim %267, dims = [0, 1, 2] : (tensor<64x512x1xf32>) -> tensor<64x512x1024xf32>
    %331 = stablehlo.multiply %325, %330 : tensor<64x512x1024xf32>
    %332 = stablehlo.add %306, %331 : tensor<64x512x1024xf32>
    %333 = stablehlo.multiply %329, %270 : tensor<64x512x1xf32>
    %cst_46 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %334 = stablehlo.broadcast_in_dim %cst_46, dims = [] : (tensor<f32>) -> tensor<64x512x1xf32>
    %335 = stablehlo.divide %333, %334 : tensor<64x512x1xf32>
    %cst_47 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %336 = stablehlo.reduce(%335 init: %cst_47) applies stablehlo.add across dimensions = [2] : (tensor<64x512x1xf32>, tensor<f32>) -> tensor<64x512xf32>
    %337 = stablehlo.broadcast_in_dim %336, dims = [0, 1] : (tensor<64x512xf32>) -> tensor<64x512x1024xf32>
    %338 = stablehlo.multiply %259, %337 : tensor<64x512x1024xf32>
    %339 = stablehlo.add %332, %338 : tensor<64x512x1024xf32>
    %340 = stablehlo.multiply %337, %259 : tensor<64x512x1024xf32>
    %341 = stablehlo.add %339, %340 : tensor<64x512x1024xf32>
    %342 = stablehlo.dot_general %341, %257, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<64x512x1024xf32>) -> tensor<1024x1024xf32>
    %343 = stablehlo.transpose %342, dims = [1, 0] : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %344 = stablehlo.dot_general %341, %arg15, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<1024x1024xf32>) -> tensor<64x512x1024xf32>
    %345 = stablehlo.reshape %344 : (tensor<64x512x1024xf32>) -> tensor<64x512x16x64xf32>
    %346 = stablehlo.transpose %345, dims = [0, 2, 3, 1] : (tensor<64x512x16x64xf32>) -> tensor<64x16x64x512xf32>
    %347 = stablehlo.dot_general %346, %254, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<64x16x64x512xf32>, tensor<64x512x16x64xf32>) -> tensor<64x16x512x512xf32>
    %348 = stablehlo.dot_general %346, %248, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<64x16x64x512xf32>, tensor<64x16x512x512xf32>) -> tensor<64x16x64x512xf32>
    %349 = stablehlo.transpose %348, dims = [0, 3, 1, 2] : (tensor<64x16x64x512xf32>) -> tensor<64x512x16x64xf32>
    %350 = sdy.sharding_constraint %349 <@mesh, [{"data", "fsdp"}, {}, {"tensor"}, {}]> : tensor<64x512x16x64xf32>
    %351 = stablehlo.reshape %350 : (tensor<64x512x16x64xf32>) -> tensor<64x512x1024xf32>
    %352 = stablehlo.dot_general %351, %161, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<64x512x1024xf32>) -> tensor<1024x1024xf32>
    %353 = stablehlo.transpose %352, dims = [1, 0] : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %354 = stablehlo.dot_general %351, %arg18, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<1024x1024xf32>) -> tensor<64x512x1024xf32>
    %355 = stablehlo.broadcast_in_dim %251, dims = [0, 1, 2, 3] : (tensor<64x16x512x1xf32>) -> tensor<64x16x512x512xf32>
    %356 = stablehlo.multiply %347, %355 : tensor<64x16x512x512xf32>
    %357 = stablehlo.multiply %356, %244 : tensor<64x16x512x512xf32>
    %cst_48 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %358 = stablehlo.reduce(%357 init: %cst_48) applies stablehlo.add across dimensions = [3] : (tensor<64x16x512x512xf32>, tensor<f32>) -> tensor<64x16x512xf32>
    %359 = stablehlo.reshape %358 : (tensor<64x16x512xf32>) -> tensor<64x16x512x1xf32>
    %360 = stablehlo.negate %359 : tensor<64x16x512x1xf32>
    %361 = stablehlo.broadcast_in_dim %246, dims = [0, 1, 2, 3] : (tensor<64x16x512x1xf32>) -> tensor<64x16x512x512xf32>
    %362 = stablehlo.divide %347, %361 : tensor<64x16x512x512xf32>
    %cst_49 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %363 = stablehlo.reduce(%360 init: %cst_49) applies stablehlo.add across dimensions = [3] : (tensor<64x16x512x1xf32>, tensor<f32>) -> tensor<64x16x512xf32>
    %364 = stablehlo.broadcast_in_dim %363, dims = [0, 1, 2] : (tensor<64x16x512xf32>) -> tensor<64x16x512x512xf32>
    %365 = stablehlo.add %362, %364 : tensor<64x16x512x512xf32>
    %366 = stablehlo.multiply %365, %244 : tensor<64x16x512x512xf32>
    %367 = call @_where_3(%237#1, %366) : (tensor<64x16x512x512xi1>, tensor<64x16x512x512xf32>) -> tensor<64x16x512x512xf32>
    %cst_50 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %368 = stablehlo.broadcast_in_dim %cst_50, dims = [] : (tensor<f32>) -> tensor<64x16x512x512xf32>
    %369 = stablehlo.divide %367, %368 : tensor<64x16x512x512xf32>
    %370 = stablehlo.dot_general %369, %196, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<64x16x512x512xf32>, tensor<64x512x16x64xf32>) -> tensor<64x16x512x64xf32>
    %371 = stablehlo.transpose %370, dims = [0, 2, 1, 3] : (tensor<64x16x512x64xf32>) -> tensor<64x512x16x64xf32>
    %372 = stablehlo.dot_general %369, %231, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<64x16x512x512xf32>, tensor<64x512x16x64xf32>) -> tensor<64x16x512x64xf32>
    %373 = stablehlo.transpose %372, dims = [0, 2, 1, 3] : (tensor<64x16x512x64xf32>) -> tensor<64x512x16x64xf32>
    %374 = stablehlo.slice %371 [0:64, 0:512, 0:16, 0:32] : (tensor<64x512x16x64xf32>) -> tensor<64x512x16x32xf32>
    %375 = stablehlo.slice %371 [0:64, 0:512, 0:16, 32:64] : (tensor<64x512x16x64xf32>) -> tensor<64x512x16x32xf32>
    %376 = stablehlo.broadcast_in_dim %227, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %377 = stablehlo.multiply %375, %376 : tensor<64x512x16x32xf32>
    %378 = stablehlo.broadcast_in_dim %224, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %379 = stablehlo.multiply %375, %378 : tensor<64x512x16x32xf32>
    %380 = stablehlo.negate %374 : tensor<64x512x16x32xf32>
    %381 = stablehlo.broadcast_in_dim %220, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %382 = stablehlo.multiply %380, %381 : tensor<64x512x16x32xf32>
    %383 = stablehlo.add %379, %382 : tensor<64x512x16x32xf32>
    %384 = stablehlo.broadcast_in_dim %217, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %385 = stablehlo.multiply %374, %384 : tensor<64x512x16x32xf32>
    %386 = stablehlo.add %377, %385 : tensor<64x512x16x32xf32>
    %387 = stablehlo.concatenate %386, %383, dim = 3 : (tensor<64x512x16x32xf32>, tensor<64x512x16x32xf32>) -> tensor<64x512x16x64xf32>
    %388 = sdy.sharding_constraint %387 <@mesh, [{"data", "fsdp"}, {}, {"tensor"}, {}]> : tensor<64x512x16x64xf32>
    %389 = stablehlo.reshape %388 : (tensor<64x512x16x64xf32>) -> tensor<64x512x1024xf32>
    %390 = stablehlo.dot_general %389, %161, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<64x512x1024xf32>) -> tensor<1024x1024xf32>
    %391 = stablehlo.transpose %390, dims = [1, 0] : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %392 = stablehlo.dot_general %389, %arg12, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<1024x1024xf32>) -> tensor<64x512x1024xf32>
    %393 = stablehlo.add %354, %392 : tensor<64x512x1024xf32>
    %394 = stablehlo.slice %373 [0:64, 0:512, 0:16, 0:32] : (tensor<64x512x16x64xf32>) -> tensor<64x512x16x32xf32>
    %395 = stablehlo.slice %373 [0:64, 0:512, 0:16, 32:64] : (tensor<64x512x16x64xf32>) -> tensor<64x512x16x32xf32>
    %396 = stablehlo.broadcast_in_dim %192, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %397 = stablehlo.multiply %395, %396 : tensor<64x512x16x32xf32>
    %398 = stablehlo.broadcast_in_dim %189, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %399 = stablehlo.multiply %395, %398 : tensor<64x512x16x32xf32>
    %400 = stablehlo.negate %394 : tensor<64x512x16x32xf32>
    %401 = stablehlo.broadcast_in_dim %185, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %402 = stablehlo.multiply %400, %401 : tensor<64x512x16x32xf32>
    %403 = stablehlo.add %399, %402 : tensor<64x512x16x32xf32>
    %404 = stablehlo.broadcast_in_dim %182, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %405 = stablehlo.multiply %394, %404 : tensor<64x512x16x32xf32>
    %406 = stablehlo.add %397, %405 : tensor<64x512x16x32xf32>
    %407 = stablehlo.concatenate %406, %403, dim = 3 : (tensor<64x512x16x32xf32>, tensor<64x512x16x32xf32>) -> tensor<64x512x16x64xf32>
    %408 = sdy.sharding_constraint %407 <@mesh, [{"data", "fsdp"}, {}, {"tensor"}, {}]> : tensor<64x512x16x64xf32>
    %409 = stablehlo.reshape %408 : (tensor<64x512x16x64xf32>) -> tensor<64x512x1024xf32>
    %410 = stablehlo.dot_general %409, %161, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<64x512x1024xf32>) -> tensor<1024x1024xf32>
    %411 = stablehlo.transpose %410, dims = [1, 0] : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %412 = stablehlo.dot_general %409, %arg16, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<1024x1024xf32>) -> tensor<64x512x1024xf32>
    %413 = stablehlo.add %393, %412 : tensor<64x512x1024xf32>
    %414 = stablehlo.multiply %158, %413 : tensor<64x512x1024xf32>
    %cst_51 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %415 = stablehlo.reduce(%414 init: %cst_51) applies stablehlo.add across dimensions = [0, 1] : (tensor<64x512x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %416 = stablehlo.reshape %415 : (tensor<1024xf32>) -> tensor<1x1x1024xf32>
    %417 = stablehlo.broadcast_in_dim %159, dims = [0, 1, 2] : (tensor<1x1x1024xf32>) -> tensor<64x512x1024xf32>
    %418 = stablehlo.multiply %413, %417 : tensor<64x512x1024xf32>
    %cst_52 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %419 = stablehlo.reduce(%416 init: %cst_52) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %420 = stablehlo.multiply %145, %418 : tensor<64x512x1024xf32>
    %cst_53 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %421 = stablehlo.reduce(%420 init: %cst_53) applies stablehlo.add across dimensions = [2] : (tensor<64x512x1024xf32>, tensor<f32>) -> tensor<64x512xf32>
    %422 = stablehlo.reshape %421 : (tensor<64x512xf32>) -> tensor<64x512x1xf32>
    %423 = stablehlo.broadcast_in_dim %153, dims = [0, 1, 2] : (tensor<64x512x1xf32>) -> tensor<64x512x1024xf32>
    %424 = stablehlo.multiply %418, %423 : tensor<64x512x1024xf32>
    %425 = stablehlo.add %341, %424 : tensor<64x512x1024xf32>
    %426 = stablehlo.multiply %422, %156 : tensor<64x512x1xf32>
    %cst_54 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %427 = stablehlo.broadcast_in_dim %cst_54, dims = [] : (tensor<f32>) -> tensor<64x512x1xf32>
    %428 = stablehlo.divide %426, %427 : tensor<64x512x1xf32>
    %cst_55 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %429 = stablehlo.reduce(%428 init: %cst_55) applies stablehlo.add across dimensions = [2] : (tensor<64x512x1xf32>, tensor<f32>) -> tensor<64x512xf32>
    %430 = stablehlo.broadcast_in_dim %429, dims = [0, 1] : (tensor<64x512xf32>) -> tensor<64x512x1024xf32>
    %431 = stablehlo.multiply %145, %430 : tensor<64x512x1024xf32>
    %432 = stablehlo.add %425, %431 : tensor<64x512x1024xf32>
    %433 = stablehlo.multiply %430, %145 : tensor<64x512x1024xf32>
    %434 = stablehlo.add %432, %433 : tensor<64x512x1024xf32>
    %435 = sdy.sharding_constraint %434 <@mesh, [{"data", "fsdp"}, {}, {}]> : tensor<64x512x1024xf32>
    %436 = stablehlo.dot_general %435, %142, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<64x512x4096xf32>) -> tensor<1024x4096xf32>
    %437 = stablehlo.transpose %436, dims = [1, 0] : (tensor<1024x4096xf32>) -> tensor<4096x1024xf32>
    %438 = stablehlo.dot_general %435, %arg1, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<4096x1024xf32>) -> tensor<64x512x4096xf32>
    %439 = sdy.sharding_constraint %438 <@mesh, [{"data", "fsdp"}, {?}, {"tensor"}]> : tensor<64x512x4096xf32>
    %440 = stablehlo.multiply %139#0, %439 : tensor<64x512x4096xf32>
    %441 = stablehlo.multiply %439, %140 : tensor<64x512x4096xf32>
    %442 = stablehlo.dot_general %440, %137, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<64x512x4096xf32>, tensor<64x512x1024xf32>) -> tensor<4096x1024xf32>
    %443 = stablehlo.transpose %442, dims = [1, 0] : (tensor<4096x1024xf32>) -> tensor<1024x4096xf32>
    %444 = stablehlo.dot_general %440, %arg8, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<64x512x4096xf32>, tensor<1024x4096xf32>) -> tensor<64x512x1024xf32>
    %445 = call @silu_2(%139#1, %139#2, %138, %441) : (tensor<64x512x4096xf32>, tensor<64x512x4096xf32>, tensor<64x512x4096xf32>, tensor<64x512x4096xf32>) -> tensor<64x512x4096xf32>
    %446 = stablehlo.dot_general %445, %137, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<64x512x4096xf32>, tensor<64x512x1024xf32>) -> tensor<4096x1024xf32>
    %447 = stablehlo.transpose %446, dims = [1, 0] : (tensor<4096x1024xf32>) -> tensor<1024x4096xf32>
    %448 = stablehlo.dot_general %445, %arg2, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<64x512x4096xf32>, tensor<1024x4096xf32>) -> tensor<64x512x1024xf32>
    %449 = stablehlo.add %444, %448 : tensor<64x512x1024xf32>
    %450 = stablehlo.multiply %134, %449 : tensor<64x512x1024xf32>
    %cst_56 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %451 = stablehlo.reduce(%450 init: %cst_56) applies stablehlo.add across dimensions = [0, 1] : (tensor<64x512x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %452 = stablehlo.reshape %451 : (tensor<1024xf32>) -> tensor<1x1x1024xf32>
    %453 = stablehlo.broadcast_in_dim %135, dims = [0, 1, 2] : (tensor<1x1x1024xf32>) -> tensor<64x512x1024xf32>
    %454 = stablehlo.multiply %449, %453 : tensor<64x512x1024xf32>
    %cst_57 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %455 = stablehlo.reduce(%452 init: %cst_57) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %456 = stablehlo.multiply %121, %454 : tensor<64x512x1024xf32>
    %cst_58 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %457 = stablehlo.reduce(%456 init: %cst_58) applies stablehlo.add across dimensions = [2] : (tensor<64x512x1024xf32>, tensor<f32>) -> tensor<64x512xf32>
    %458 = stablehlo.reshape %457 : (tensor<64x512xf32>) -> tensor<64x512x1xf32>
    %459 = stablehlo.broadcast_in_dim %129, dims = [0, 1, 2] : (tensor<64x512x1xf32>) -> tensor<64x512x1024xf32>
    %460 = stablehlo.multiply %454, %459 : tensor<64x512x1024xf32>
    %461 = stablehlo.add %435, %460 : tensor<64x512x1024xf32>
    %462 = stablehlo.multiply %458, %132 : tensor<64x512x1xf32>
    %cst_59 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %463 = stablehlo.broadcast_in_dim %cst_59, dims = [] : (tensor<f32>) -> tensor<64x512x1xf32>
    %464 = stablehlo.divide %462, %463 : tensor<64x512x1xf32>
    %cst_60 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %465 = stablehlo.reduce(%464 init: %cst_60) applies stablehlo.add across dimensions = [2] : (tensor<64x512x1xf32>, tensor<f32>) -> tensor<64x512xf32>
    %466 = stablehlo.broadcast_in_dim %465, dims = [0, 1] : (tensor<64x512xf32>) -> tensor<64x512x1024xf32>
    %467 = stablehlo.multiply %121, %466 : tensor<64x512x1024xf32>
    %468 = stablehlo.add %461, %467 : tensor<64x512x1024xf32>
    %469 = stablehlo.multiply %466, %121 : tensor<64x512x1024xf32>
    %470 = stablehlo.add %468, %469 : tensor<64x512x1024xf32>
    %471 = stablehlo.dot_general %470, %119, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<64x512x1024xf32>) -> tensor<1024x1024xf32>
    %472 = stablehlo.transpose %471, dims = [1, 0] : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %473 = stablehlo.dot_general %470, %arg6, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<1024x1024xf32>) -> tensor<64x512x1024xf32>
    %474 = stablehlo.reshape %473 : (tensor<64x512x1024xf32>) -> tensor<64x512x16x64xf32>
    %475 = stablehlo.transpose %474, dims = [0, 2, 3, 1] : (tensor<64x512x16x64xf32>) -> tensor<64x16x64x512xf32>
    %476 = stablehlo.dot_general %475, %116, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<64x16x64x512xf32>, tensor<64x512x16x64xf32>) -> tensor<64x16x512x512xf32>
    %477 = stablehlo.dot_general %475, %110, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<64x16x64x512xf32>, tensor<64x16x512x512xf32>) -> tensor<64x16x64x512xf32>
    %478 = stablehlo.transpose %477, dims = [0, 3, 1, 2] : (tensor<64x16x64x512xf32>) -> tensor<64x512x16x64xf32>
    %479 = sdy.sharding_constraint %478 <@mesh, [{"data", "fsdp"}, {}, {"tensor"}, {}]> : tensor<64x512x16x64xf32>
    %480 = stablehlo.reshape %479 : (tensor<64x512x16x64xf32>) -> tensor<64x512x1024xf32>
    %481 = stablehlo.dot_general %480, %23, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<64x512x1024xf32>) -> tensor<1024x1024xf32>
    %482 = stablehlo.transpose %481, dims = [1, 0] : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %483 = stablehlo.dot_general %480, %arg9, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<1024x1024xf32>) -> tensor<64x512x1024xf32>
    %484 = stablehlo.broadcast_in_dim %113, dims = [0, 1, 2, 3] : (tensor<64x16x512x1xf32>) -> tensor<64x16x512x512xf32>
    %485 = stablehlo.multiply %476, %484 : tensor<64x16x512x512xf32>
    %486 = stablehlo.multiply %485, %106 : tensor<64x16x512x512xf32>
    %cst_61 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %487 = stablehlo.reduce(%486 init: %cst_61) applies stablehlo.add across dimensions = [3] : (tensor<64x16x512x512xf32>, tensor<f32>) -> tensor<64x16x512xf32>
    %488 = stablehlo.reshape %487 : (tensor<64x16x512xf32>) -> tensor<64x16x512x1xf32>
    %489 = stablehlo.negate %488 : tensor<64x16x512x1xf32>
    %490 = stablehlo.broadcast_in_dim %108, dims = [0, 1, 2, 3] : (tensor<64x16x512x1xf32>) -> tensor<64x16x512x512xf32>
    %491 = stablehlo.divide %476, %490 : tensor<64x16x512x512xf32>
    %cst_62 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %492 = stablehlo.reduce(%489 init: %cst_62) applies stablehlo.add across dimensions = [3] : (tensor<64x16x512x1xf32>, tensor<f32>) -> tensor<64x16x512xf32>
    %493 = stablehlo.broadcast_in_dim %492, dims = [0, 1, 2] : (tensor<64x16x512xf32>) -> tensor<64x16x512x512xf32>
    %494 = stablehlo.add %491, %493 : tensor<64x16x512x512xf32>
    %495 = stablehlo.multiply %494, %106 : tensor<64x16x512x512xf32>
    %496 = call @_where_3(%99#1, %495) : (tensor<64x16x512x512xi1>, tensor<64x16x512x512xf32>) -> tensor<64x16x512x512xf32>
    %cst_63 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %497 = stablehlo.broadcast_in_dim %cst_63, dims = [] : (tensor<f32>) -> tensor<64x16x512x512xf32>
    %498 = stablehlo.divide %496, %497 : tensor<64x16x512x512xf32>
    %499 = stablehlo.dot_general %498, %58, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<64x16x512x512xf32>, tensor<64x512x16x64xf32>) -> tensor<64x16x512x64xf32>
    %500 = stablehlo.transpose %499, dims = [0, 2, 1, 3] : (tensor<64x16x512x64xf32>) -> tensor<64x512x16x64xf32>
    %501 = stablehlo.dot_general %498, %93, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<64x16x512x512xf32>, tensor<64x512x16x64xf32>) -> tensor<64x16x512x64xf32>
    %502 = stablehlo.transpose %501, dims = [0, 2, 1, 3] : (tensor<64x16x512x64xf32>) -> tensor<64x512x16x64xf32>
    %503 = stablehlo.slice %500 [0:64, 0:512, 0:16, 0:32] : (tensor<64x512x16x64xf32>) -> tensor<64x512x16x32xf32>
    %504 = stablehlo.slice %500 [0:64, 0:512, 0:16, 32:64] : (tensor<64x512x16x64xf32>) -> tensor<64x512x16x32xf32>
    %505 = stablehlo.broadcast_in_dim %89, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %506 = stablehlo.multiply %504, %505 : tensor<64x512x16x32xf32>
    %507 = stablehlo.broadcast_in_dim %86, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %508 = stablehlo.multiply %504, %507 : tensor<64x512x16x32xf32>
    %509 = stablehlo.negate %503 : tensor<64x512x16x32xf32>
    %510 = stablehlo.broadcast_in_dim %82, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %511 = stablehlo.multiply %509, %510 : tensor<64x512x16x32xf32>
    %512 = stablehlo.add %508, %511 : tensor<64x512x16x32xf32>
    %513 = stablehlo.broadcast_in_dim %79, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %514 = stablehlo.multiply %503, %513 : tensor<64x512x16x32xf32>
    %515 = stablehlo.add %506, %514 : tensor<64x512x16x32xf32>
    %516 = stablehlo.concatenate %515, %512, dim = 3 : (tensor<64x512x16x32xf32>, tensor<64x512x16x32xf32>) -> tensor<64x512x16x64xf32>
    %517 = sdy.sharding_constraint %516 <@mesh, [{"data", "fsdp"}, {}, {"tensor"}, {}]> : tensor<64x512x16x64xf32>
    %518 = stablehlo.reshape %517 : (tensor<64x512x16x64xf32>) -> tensor<64x512x1024xf32>
    %519 = stablehlo.dot_general %518, %23, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<64x512x1024xf32>) -> tensor<1024x1024xf32>
    %520 = stablehlo.transpose %519, dims = [1, 0] : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %521 = stablehlo.dot_general %518, %arg3, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<1024x1024xf32>) -> tensor<64x512x1024xf32>
    %522 = stablehlo.add %483, %521 : tensor<64x512x1024xf32>
    %523 = stablehlo.slice %502 [0:64, 0:512, 0:16, 0:32] : (tensor<64x512x16x64xf32>) -> tensor<64x512x16x32xf32>
    %524 = stablehlo.slice %502 [0:64, 0:512, 0:16, 32:64] : (tensor<64x512x16x64xf32>) -> tensor<64x512x16x32xf32>
    %525 = stablehlo.broadcast_in_dim %54, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %526 = stablehlo.multiply %524, %525 : tensor<64x512x16x32xf32>
    %527 = stablehlo.broadcast_in_dim %51, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %528 = stablehlo.multiply %524, %527 : tensor<64x512x16x32xf32>
    %529 = stablehlo.negate %523 : tensor<64x512x16x32xf32>
    %530 = stablehlo.broadcast_in_dim %47, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %531 = stablehlo.multiply %529, %530 : tensor<64x512x16x32xf32>
    %532 = stablehlo.add %528, %531 : tensor<64x512x16x32xf32>
    %533 = stablehlo.broadcast_in_dim %44, dims = [0, 1, 2, 3] : (tensor<1x512x1x32xf32>) -> tensor<64x512x16x32xf32>
    %534 = stablehlo.multiply %523, %533 : tensor<64x512x16x32xf32>
    %535 = stablehlo.add %526, %534 : tensor<64x512x16x32xf32>
    %536 = stablehlo.concatenate %535, %532, dim = 3 : (tensor<64x512x16x32xf32>, tensor<64x512x16x32xf32>) -> tensor<64x512x16x64xf32>
    %537 = sdy.sharding_constraint %536 <@mesh, [{"data", "fsdp"}, {}, {"tensor"}, {}]> : tensor<64x512x16x64xf32>
    %538 = stablehlo.reshape %537 : (tensor<64x512x16x64xf32>) -> tensor<64x512x1024xf32>
    %539 = stablehlo.dot_general %538, %23, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<64x512x1024xf32>) -> tensor<1024x1024xf32>
    %540 = stablehlo.transpose %539, dims = [1, 0] : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %541 = stablehlo.dot_general %538, %arg7, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<64x512x1024xf32>, tensor<1024x1024xf32>) -> tensor<64x512x1024xf32>
    %542 = stablehlo.add %522, %541 : tensor<64x512x1024xf32>
    %543 = stablehlo.multiply %20, %542 : tensor<64x512x1024xf32>
    %cst_64 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %544 = stablehlo.reduce(%543 init: %cst_64) applies stablehlo.add across dimensions = [0, 1] : (tensor<64x512x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %545 = stablehlo.reshape %544 : (tensor<1024xf32>) -> tensor<1x1x1024xf32>
    %546 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2] : (tensor<1x1x1024xf32>) -> tensor<64x512x1024xf32>
    %547 = stablehlo.multiply %542, %546 : tensor<64x512x1024xf32>
    %cst_65 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %548 = stablehlo.reduce(%545 init: %cst_65) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %549 = stablehlo.multiply %7, %547 : tensor<64x512x1024xf32>
    %cst_66 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %550 = stablehlo.reduce(%549 init: %cst_66) applies stablehlo.add across dimensions = [2] : (tensor<64x512x1024xf32>, tensor<f32>) -> tensor<64x512xf32>
    %551 = stablehlo.reshape %550 : (tensor<64x512xf32>) -> tensor<64x512x1xf32>
    %552 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2] : (tensor<64x512x1xf32>) -> tensor<64x512x1024xf32>
    %553 = stablehlo.multiply %547, %552 : tensor<64x512x1024xf32>
    %554 = stablehlo.add %470, %553 : tensor<64x512x1024xf32>
    %555 = stablehlo.multiply %551, %18 : tensor<64x512x1xf32>
    %cst_67 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %556 = stablehlo.broadcast_in_dim %cst_67, dims = [] : (tensor<f32>) -> tensor<64x512x1xf32>
    %557 = stablehlo.divide %555, %556 : tensor<64x512x1xf32>
    %cst_68 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %558 = stablehlo.reduce(%557 init: %cst_68) applies stablehlo.add across dimensions = [2] : (tensor<64x512x1xf32>, tensor<f32>) -> tensor<64x512xf32>
    %559 = stablehlo.broadcast_in_dim %558, dims = [0, 1] : (tensor<64x512xf32>) -> tensor<64x512x1024xf32>
    %560 = stablehlo.multiply %7, %559 : tensor<64x512x1024xf32>
    %561 = stablehlo.add %554, %560 : tensor<64x512x1024xf32>
    %562 = stablehlo.multiply %559, %7 : tensor<64x512x1024xf32>
    %563 = stablehlo.add %561, %562 : tensor<64x512x1024xf32>
    %564 = sdy.sharding_constraint %563 <@mesh, [{"data", "fsdp"}, {}, {}]> : tensor<64x512x1024xf32>
    %cst_69 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %565 = stablehlo.broadcast_in_dim %cst_69, dims = [] : (tensor<f32>) -> tensor<32768x1024xf32>
    %566 = "stablehlo.scatter"(%565, %5, %564) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg58: tensor<f32>, %arg59: tensor<f32>):
      %910 = stablehlo.add %arg58, %arg59 : tensor<f32>
      stablehlo.return %910 : tensor<f32>
    }) : (tensor<32768x1024xf32>, tensor<64x512x1xi32>, tensor<64x512x1024xf32>) -> tensor<32768x1024xf32>
    %567 = stablehlo.add %305, %566 : tensor<32768x1024xf32>
    %cst_70 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %568 = stablehlo.broadcast_in_dim %cst_70, dims = [] : (tensor<f32>) -> tensor<32768x1024xf32>
    %569 = stablehlo.multiply %568, %arg19 : tensor<32768x1024xf32>
    %cst_71 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %570 = stablehlo.broadcast_in_dim %cst_71, dims = [] : (tensor<f32>) -> tensor<32768x1024xf32>
    %571 = stablehlo.multiply %570, %567 : tensor<32768x1024xf32>
    %572 = stablehlo.add %569, %571 : tensor<32768x1024xf32>
    %cst_72 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %573 = stablehlo.broadcast_in_dim %cst_72, dims = [] : (tensor<f32>) -> tensor<4096x1024xf32>
    %574 = stablehlo.multiply %573, %arg20 : tensor<4096x1024xf32>
    %cst_73 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %575 = stablehlo.broadcast_in_dim %cst_73, dims = [] : (tensor<f32>) -> tensor<4096x1024xf32>
    %576 = stablehlo.multiply %575, %437 : tensor<4096x1024xf32>
    %577 = stablehlo.add %574, %576 : tensor<4096x1024xf32>
    %cst_74 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %578 = stablehlo.broadcast_in_dim %cst_74, dims = [] : (tensor<f32>) -> tensor<1024x4096xf32>
    %579 = stablehlo.multiply %578, %arg21 : tensor<1024x4096xf32>
    %cst_75 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %580 = stablehlo.broadcast_in_dim %cst_75, dims = [] : (tensor<f32>) -> tensor<1024x4096xf32>
    %581 = stablehlo.multiply %580, %447 : tensor<1024x4096xf32>
    %582 = stablehlo.add %579, %581 : tensor<1024x4096xf32>
    %cst_76 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %583 = stablehlo.broadcast_in_dim %cst_76, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %584 = stablehlo.multiply %583, %arg22 : tensor<1024x1024xf32>
    %cst_77 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %585 = stablehlo.broadcast_in_dim %cst_77, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %586 = stablehlo.multiply %585, %520 : tensor<1024x1024xf32>
    %587 = stablehlo.add %584, %586 : tensor<1024x1024xf32>
    %cst_78 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %588 = stablehlo.broadcast_in_dim %cst_78, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %589 = stablehlo.multiply %588, %arg23 : tensor<1024xf32>
    %cst_79 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %590 = stablehlo.broadcast_in_dim %cst_79, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %591 = stablehlo.multiply %590, %548 : tensor<1024xf32>
    %592 = stablehlo.add %589, %591 : tensor<1024xf32>
    %cst_80 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %593 = stablehlo.broadcast_in_dim %cst_80, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %594 = stablehlo.multiply %593, %arg24 : tensor<1024xf32>
    %cst_81 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %595 = stablehlo.broadcast_in_dim %cst_81, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %596 = stablehlo.multiply %595, %455 : tensor<1024xf32>
    %597 = stablehlo.add %594, %596 : tensor<1024xf32>
    %cst_82 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %598 = stablehlo.broadcast_in_dim %cst_82, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %599 = stablehlo.multiply %598, %arg25 : tensor<1024x1024xf32>
    %cst_83 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %600 = stablehlo.broadcast_in_dim %cst_83, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %601 = stablehlo.multiply %600, %472 : tensor<1024x1024xf32>
    %602 = stablehlo.add %599, %601 : tensor<1024x1024xf32>
    %cst_84 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %603 = stablehlo.broadcast_in_dim %cst_84, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %604 = stablehlo.multiply %603, %arg26 : tensor<1024x1024xf32>
    %cst_85 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %605 = stablehlo.broadcast_in_dim %cst_85, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %606 = stablehlo.multiply %605, %540 : tensor<1024x1024xf32>
    %607 = stablehlo.add %604, %606 : tensor<1024x1024xf32>
    %cst_86 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %608 = stablehlo.broadcast_in_dim %cst_86, dims = [] : (tensor<f32>) -> tensor<1024x4096xf32>
    %609 = stablehlo.multiply %608, %arg27 : tensor<1024x4096xf32>
    %cst_87 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %610 = stablehlo.broadcast_in_dim %cst_87, dims = [] : (tensor<f32>) -> tensor<1024x4096xf32>
    %611 = stablehlo.multiply %610, %443 : tensor<1024x4096xf32>
    %612 = stablehlo.add %609, %611 : tensor<1024x4096xf32>
    %cst_88 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %613 = stablehlo.broadcast_in_dim %cst_88, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %614 = stablehlo.multiply %613, %arg28 : tensor<1024x1024xf32>
    %cst_89 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %615 = stablehlo.broadcast_in_dim %cst_89, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %616 = stablehlo.multiply %615, %482 : tensor<1024x1024xf32>
    %617 = stablehlo.add %614, %616 : tensor<1024x1024xf32>
    %cst_90 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %618 = stablehlo.broadcast_in_dim %cst_90, dims = [] : (tensor<f32>) -> tensor<4096x1024xf32>
    %619 = stablehlo.multiply %618, %arg29 : tensor<4096x1024xf32>
    %cst_91 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %620 = stablehlo.broadcast_in_dim %cst_91, dims = [] : (tensor<f32>) -> tensor<4096x1024xf32>
    %621 = stablehlo.multiply %620, %308 : tensor<4096x1024xf32>
    %622 = stablehlo.add %619, %621 : tensor<4096x1024xf32>
    %cst_92 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %623 = stablehlo.broadcast_in_dim %cst_92, dims = [] : (tensor<f32>) -> tensor<1024x4096xf32>
    %624 = stablehlo.multiply %623, %arg30 : tensor<1024x4096xf32>
    %cst_93 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %625 = stablehlo.broadcast_in_dim %cst_93, dims = [] : (tensor<f32>) -> tensor<1024x4096xf32>
    %626 = stablehlo.multiply %625, %318 : tensor<1024x4096xf32>
    %627 = stablehlo.add %624, %626 : tensor<1024x4096xf32>
    %cst_94 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %628 = stablehlo.broadcast_in_dim %cst_94, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %629 = stablehlo.multiply %628, %arg31 : tensor<1024x1024xf32>
    %cst_95 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %630 = stablehlo.broadcast_in_dim %cst_95, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %631 = stablehlo.multiply %630, %391 : tensor<1024x1024xf32>
    %632 = stablehlo.add %629, %631 : tensor<1024x1024xf32>
    %cst_96 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %633 = stablehlo.broadcast_in_dim %cst_96, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %634 = stablehlo.multiply %633, %arg32 : tensor<1024xf32>
    %cst_97 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %635 = stablehlo.broadcast_in_dim %cst_97, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %636 = stablehlo.multiply %635, %419 : tensor<1024xf32>
    %637 = stablehlo.add %634, %636 : tensor<1024xf32>
    %cst_98 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %638 = stablehlo.broadcast_in_dim %cst_98, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %639 = stablehlo.multiply %638, %arg33 : tensor<1024xf32>
    %cst_99 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %640 = stablehlo.broadcast_in_dim %cst_99, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %641 = stablehlo.multiply %640, %326 : tensor<1024xf32>
    %642 = stablehlo.add %639, %641 : tensor<1024xf32>
    %cst_100 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %643 = stablehlo.broadcast_in_dim %cst_100, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %644 = stablehlo.multiply %643, %arg34 : tensor<1024x1024xf32>
    %cst_101 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %645 = stablehlo.broadcast_in_dim %cst_101, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %646 = stablehlo.multiply %645, %343 : tensor<1024x1024xf32>
    %647 = stablehlo.add %644, %646 : tensor<1024x1024xf32>
    %cst_102 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %648 = stablehlo.broadcast_in_dim %cst_102, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %649 = stablehlo.multiply %648, %arg35 : tensor<1024x1024xf32>
    %cst_103 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %650 = stablehlo.broadcast_in_dim %cst_103, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %651 = stablehlo.multiply %650, %411 : tensor<1024x1024xf32>
    %652 = stablehlo.add %649, %651 : tensor<1024x1024xf32>
    %cst_104 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %653 = stablehlo.broadcast_in_dim %cst_104, dims = [] : (tensor<f32>) -> tensor<1024x4096xf32>
    %654 = stablehlo.multiply %653, %arg36 : tensor<1024x4096xf32>
    %cst_105 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %655 = stablehlo.broadcast_in_dim %cst_105, dims = [] : (tensor<f32>) -> tensor<1024x4096xf32>
    %656 = stablehlo.multiply %655, %314 : tensor<1024x4096xf32>
    %657 = stablehlo.add %654, %656 : tensor<1024x4096xf32>
    %cst_106 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %658 = stablehlo.broadcast_in_dim %cst_106, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %659 = stablehlo.multiply %658, %arg37 : tensor<1024x1024xf32>
    %cst_107 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %660 = stablehlo.broadcast_in_dim %cst_107, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %661 = stablehlo.multiply %660, %353 : tensor<1024x1024xf32>
    %662 = stablehlo.add %659, %661 : tensor<1024x1024xf32>
    %cst_108 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %663 = stablehlo.broadcast_in_dim %cst_108, dims = [] : (tensor<f32>) -> tensor<32768x1024xf32>
    %664 = stablehlo.multiply %663, %arg38 : tensor<32768x1024xf32>
    %cst_109 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %665 = stablehlo.broadcast_in_dim %cst_109, dims = [] : (tensor<f32>) -> tensor<32768x1024xf32>
    %666 = stablehlo.multiply %665, %567 : tensor<32768x1024xf32>
    %667 = stablehlo.multiply %666, %567 : tensor<32768x1024xf32>
    %668 = stablehlo.add %664, %667 : tensor<32768x1024xf32>
    %cst_110 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %669 = stablehlo.broadcast_in_dim %cst_110, dims = [] : (tensor<f32>) -> tensor<4096x1024xf32>
    %670 = stablehlo.multiply %669, %arg39 : tensor<4096x1024xf32>
    %cst_111 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %671 = stablehlo.broadcast_in_dim %cst_111, dims = [] : (tensor<f32>) -> tensor<4096x1024xf32>
    %672 = stablehlo.multiply %671, %437 : tensor<4096x1024xf32>
    %673 = stablehlo.multiply %672, %437 : tensor<4096x1024xf32>
    %674 = stablehlo.add %670, %673 : tensor<4096x1024xf32>
    %cst_112 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %675 = stablehlo.broadcast_in_dim %cst_112, dims = [] : (tensor<f32>) -> tensor<1024x4096xf32>
    %676 = stablehlo.multiply %675, %arg40 : tensor<1024x4096xf32>
    %cst_113 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %677 = stablehlo.broadcast_in_dim %cst_113, dims = [] : (tensor<f32>) -> tensor<1024x4096xf32>
    %678 = stablehlo.multiply %677, %447 : tensor<1024x4096xf32>
    %679 = stablehlo.multiply %678, %447 : tensor<1024x4096xf32>
    %680 = stablehlo.add %676, %679 : tensor<1024x4096xf32>
    %cst_114 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %681 = stablehlo.broadcast_in_dim %cst_114, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %682 = stablehlo.multiply %681, %arg41 : tensor<1024x1024xf32>
    %cst_115 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %683 = stablehlo.broadcast_in_dim %cst_115, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %684 = stablehlo.multiply %683, %520 : tensor<1024x1024xf32>
    %685 = stablehlo.multiply %684, %520 : tensor<1024x1024xf32>
    %686 = stablehlo.add %682, %685 : tensor<1024x1024xf32>
    %cst_116 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %687 = stablehlo.broadcast_in_dim %cst_116, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %688 = stablehlo.multiply %687, %arg42 : tensor<1024xf32>
    %cst_117 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %689 = stablehlo.broadcast_in_dim %cst_117, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %690 = stablehlo.multiply %689, %548 : tensor<1024xf32>
    %691 = stablehlo.multiply %690, %548 : tensor<1024xf32>
    %692 = stablehlo.add %688, %691 : tensor<1024xf32>
    %cst_118 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %693 = stablehlo.broadcast_in_dim %cst_118, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %694 = stablehlo.multiply %693, %arg43 : tensor<1024xf32>
    %cst_119 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %695 = stablehlo.broadcast_in_dim %cst_119, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %696 = stablehlo.multiply %695, %455 : tensor<1024xf32>
    %697 = stablehlo.multiply %696, %455 : tensor<1024xf32>
    %698 = stablehlo.add %694, %697 : tensor<1024xf32>
    %cst_120 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %699 = stablehlo.broadcast_in_dim %cst_120, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %700 = stablehlo.multiply %699, %arg44 : tensor<1024x1024xf32>
    %cst_121 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %701 = stablehlo.broadcast_in_dim %cst_121, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %702 = stablehlo.multiply %701, %472 : tensor<1024x1024xf32>
    %703 = stablehlo.multiply %702, %472 : tensor<1024x1024xf32>
    %704 = stablehlo.add %700, %703 : tensor<1024x1024xf32>
    %cst_122 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %705 = stablehlo.broadcast_in_dim %cst_122, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %706 = stablehlo.multiply %705, %arg45 : tensor<1024x1024xf32>
    %cst_123 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %707 = stablehlo.broadcast_in_dim %cst_123, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %708 = stablehlo.multiply %707, %540 : tensor<1024x1024xf32>
    %709 = stablehlo.multiply %708, %540 : tensor<1024x1024xf32>
    %710 = stablehlo.add %706, %709 : tensor<1024x1024xf32>
    %cst_124 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %711 = stablehlo.broadcast_in_dim %cst_124, dims = [] : (tensor<f32>) -> tensor<1024x4096xf32>
    %712 = stablehlo.multiply %711, %arg46 : tensor<1024x4096xf32>
    %cst_125 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %713 = stablehlo.broadcast_in_dim %cst_125, dims = [] : (tensor<f32>) -> tensor<1024x4096xf32>
    %714 = stablehlo.multiply %713, %443 : tensor<1024x4096xf32>
    %715 = stablehlo.multiply %714, %443 : tensor<1024x4096xf32>
    %716 = stablehlo.add %712, %715 : tensor<1024x4096xf32>
    %cst_126 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %717 = stablehlo.broadcast_in_dim %cst_126, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %718 = stablehlo.multiply %717, %arg47 : tensor<1024x1024xf32>
    %cst_127 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %719 = stablehlo.broadcast_in_dim %cst_127, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %720 = stablehlo.multiply %719, %482 : tensor<1024x1024xf32>
    %721 = stablehlo.multiply %720, %482 : tensor<1024x1024xf32>
    %722 = stablehlo.add %718, %721 : tensor<1024x1024xf32>
    %cst_128 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %723 = stablehlo.broadcast_in_dim %cst_128, dims = [] : (tensor<f32>) -> tensor<4096x1024xf32>
    %724 = stablehlo.multiply %723, %arg48 : tensor<4096x1024xf32>
    %cst_129 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %725 = stablehlo.broadcast_in_dim %cst_129, dims = [] : (tensor<f32>) -> tensor<4096x1024xf32>
    %726 = stablehlo.multiply %725, %308 : tensor<4096x1024xf32>
    %727 = stablehlo.multiply %726, %308 : tensor<4096x1024xf32>
    %728 = stablehlo.add %724, %727 : tensor<4096x1024xf32>
    %cst_130 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %729 = stablehlo.broadcast_in_dim %cst_130, dims = [] : (tensor<f32>) -> tensor<1024x4096xf32>
    %730 = stablehlo.multiply %729, %arg49 : tensor<1024x4096xf32>
    %cst_131 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %731 = stablehlo.broadcast_in_dim %cst_131, dims = [] : (tensor<f32>) -> tensor<1024x4096xf32>
    %732 = stablehlo.multiply %731, %318 : tensor<1024x4096xf32>
    %733 = stablehlo.multiply %732, %318 : tensor<1024x4096xf32>
    %734 = stablehlo.add %730, %733 : tensor<1024x4096xf32>
    %cst_132 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %735 = stablehlo.broadcast_in_dim %cst_132, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %736 = stablehlo.multiply %735, %arg50 : tensor<1024x1024xf32>
    %cst_133 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %737 = stablehlo.broadcast_in_dim %cst_133, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %738 = stablehlo.multiply %737, %391 : tensor<1024x1024xf32>
    %739 = stablehlo.multiply %738, %391 : tensor<1024x1024xf32>
    %740 = stablehlo.add %736, %739 : tensor<1024x1024xf32>
    %cst_134 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %741 = stablehlo.broadcast_in_dim %cst_134, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %742 = stablehlo.multiply %741, %arg51 : tensor<1024xf32>
    %cst_135 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %743 = stablehlo.broadcast_in_dim %cst_135, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %744 = stablehlo.multiply %743, %419 : tensor<1024xf32>
    %745 = stablehlo.multiply %744, %419 : tensor<1024xf32>
    %746 = stablehlo.add %742, %745 : tensor<1024xf32>
    %cst_136 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %747 = stablehlo.broadcast_in_dim %cst_136, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %748 = stablehlo.multiply %747, %arg52 : tensor<1024xf32>
    %cst_137 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %749 = stablehlo.broadcast_in_dim %cst_137, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %750 = stablehlo.multiply %749, %326 : tensor<1024xf32>
    %751 = stablehlo.multiply %750, %326 : tensor<1024xf32>
    %752 = stablehlo.add %748, %751 : tensor<1024xf32>
    %cst_138 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %753 = stablehlo.broadcast_in_dim %cst_138, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %754 = stablehlo.multiply %753, %arg53 : tensor<1024x1024xf32>
    %cst_139 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %755 = stablehlo.broadcast_in_dim %cst_139, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %756 = stablehlo.multiply %755, %343 : tensor<1024x1024xf32>
    %757 = stablehlo.multiply %756, %343 : tensor<1024x1024xf32>
    %758 = stablehlo.add %754, %757 : tensor<1024x1024xf32>
    %cst_140 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %759 = stablehlo.broadcast_in_dim %cst_140, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %760 = stablehlo.multiply %759, %arg54 : tensor<1024x1024xf32>
    %cst_141 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %761 = stablehlo.broadcast_in_dim %cst_141, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %762 = stablehlo.multiply %761, %411 : tensor<1024x1024xf32>
    %763 = stablehlo.multiply %762, %411 : tensor<1024x1024xf32>
    %764 = stablehlo.add %760, %763 : tensor<1024x1024xf32>
    %cst_142 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %765 = stablehlo.broadcast_in_dim %cst_142, dims = [] : (tensor<f32>) -> tensor<1024x4096xf32>
    %766 = stablehlo.multiply %765, %arg55 : tensor<1024x4096xf32>
    %cst_143 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %767 = stablehlo.broadcast_in_dim %cst_143, dims = [] : (tensor<f32>) -> tensor<1024x4096xf32>
    %768 = stablehlo.multiply %767, %314 : tensor<1024x4096xf32>
    %769 = stablehlo.multiply %768, %314 : tensor<1024x4096xf32>
    %770 = stablehlo.add %766, %769 : tensor<1024x4096xf32>
    %cst_144 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %771 = stablehlo.broadcast_in_dim %cst_144, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %772 = stablehlo.multiply %771, %arg56 : tensor<1024x1024xf32>
    %cst_145 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %773 = stablehlo.broadcast_in_dim %cst_145, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %774 = stablehlo.multiply %773, %353 : tensor<1024x1024xf32>
    %775 = stablehlo.multiply %774, %353 : tensor<1024x1024xf32>
    %776 = stablehlo.add %772, %775 : tensor<1024x1024xf32>
    %cst_146 = stablehlo.constant dense<3.000000e-04> : tensor<f32>
    %777 = stablehlo.broadcast_in_dim %cst_146, dims = [] : (tensor<f32>) -> tensor<32768x1024xf32>
    %778 = stablehlo.multiply %777, %572 : tensor<32768x1024xf32>
    %779 = stablehlo.sqrt %668 : tensor<32768x1024xf32>
    %cst_147 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %780 = stablehlo.broadcast_in_dim %cst_147, dims = [] : (tensor<f32>) -> tensor<32768x1024xf32>
    %781 = stablehlo.add %779, %780 : tensor<32768x1024xf32>
    %782 = stablehlo.divide %778, %781 : tensor<32768x1024xf32>
    %783 = stablehlo.subtract %arg0, %782 : tensor<32768x1024xf32>
    %cst_148 = stablehlo.constant dense<3.000000e-04> : tensor<f32>
    %784 = stablehlo.broadcast_in_dim %cst_148, dims = [] : (tensor<f32>) -> tensor<4096x1024xf32>
    %785 = stablehlo.multiply %784, %577 : tensor<4096x1024xf32>
    %786 = stablehlo.sqrt %674 : tensor<4096x1024xf32>
    %cst_149 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %787 = stablehlo.broadcast_in_dim %cst_149, dims = [] : (tensor<f32>) -> tensor<4096x1024xf32>
    %788 = stablehlo.add %786, %787 : tensor<4096x1024xf32>
    %789 = stablehlo.divide %785, %788 : tensor<4096x1024xf32>
    %790 = stablehlo.subtract %arg1, %789 : tensor<4096x1024xf32>
    %cst_150 = stablehlo.constant dense<3.000000e-04> : tensor<f32>
    %791 = stablehlo.broadcast_in_dim %cst_150, dims = [] : (tensor<f32>) -> tensor<1024x4096xf32>
    %792 = stablehlo.multiply %791, %582 : tensor<1024x4096xf32>
    %793 = stablehlo.sqrt %680 : tensor<1024x4096xf32>
    %cst_151 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %794 = stablehlo.broadcast_in_dim %cst_151, dims = [] : (tensor<f32>) -> tensor<1024x4096xf32>
    %795 = stablehlo.add %793, %794 : tensor<1024x4096xf32>
    %796 = stablehlo.divide %792, %795 : tensor<1024x4096xf32>
    %797 = stablehlo.subtract %arg2, %796 : tensor<1024x4096xf32>
    %cst_152 = stablehlo.constant dense<3.000000e-04> : tensor<f32>
    %798 = stablehlo.broadcast_in_dim %cst_152, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %799 = stablehlo.multiply %798, %587 : tensor<1024x1024xf32>
    %800 = stablehlo.sqrt %686 : tensor<1024x1024xf32>
    %cst_153 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %801 = stablehlo.broadcast_in_dim %cst_153, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %802 = stablehlo.add %800, %801 : tensor<1024x1024xf32>
    %803 = stablehlo.divide %799, %802 : tensor<1024x1024xf32>
    %804 = stablehlo.subtract %arg3, %803 : tensor<1024x1024xf32>
    %cst_154 = stablehlo.constant dense<3.000000e-04> : tensor<f32>
    %805 = stablehlo.broadcast_in_dim %cst_154, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %806 = stablehlo.multiply %805, %592 : tensor<1024xf32>
    %807 = stablehlo.sqrt %692 : tensor<1024xf32>
    %cst_155 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %808 = stablehlo.broadcast_in_dim %cst_155, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %809 = stablehlo.add %807, %808 : tensor<1024xf32>
    %810 = stablehlo.divide %806, %809 : tensor<1024xf32>
    %811 = stablehlo.subtract %arg4, %810 : tensor<1024xf32>
    %cst_156 = stablehlo.constant dense<3.000000e-04> : tensor<f32>
    %812 = stablehlo.broadcast_in_dim %cst_156, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %813 = stablehlo.multiply %812, %597 : tensor<1024xf32>
    %814 = stablehlo.sqrt %698 : tensor<1024xf32>
    %cst_157 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %815 = stablehlo.broadcast_in_dim %cst_157, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %816 = stablehlo.add %814, %815 : tensor<1024xf32>
    %817 = stablehlo.divide %813, %816 : tensor<1024xf32>
    %818 = stablehlo.subtract %arg5, %817 : tensor<1024xf32>
    %cst_158 = stablehlo.constant dense<3.000000e-04> : tensor<f32>
    %819 = stablehlo.broadcast_in_dim %cst_158, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %820 = stablehlo.multiply %819, %602 : tensor<1024x1024xf32>
    %821 = stablehlo.sqrt %704 : tensor<1024x1024xf32>
    %cst_159 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %822 = stablehlo.broadcast_in_dim %cst_159, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %823 = stablehlo.add %821, %822 : tensor<1024x1024xf32>
    %824 = stablehlo.divide %820, %823 : tensor<1024x1024xf32>
    %825 = stablehlo.subtract %arg6, %824 : tensor<1024x1024xf32>
    %cst_160 = stablehlo.constant dense<3.000000e-04> : tensor<f32>
    %826 = stablehlo.broadcast_in_dim %cst_160, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %827 = stablehlo.multiply %826, %607 : tensor<1024x1024xf32>
    %828 = stablehlo.sqrt %710 : tensor<1024x1024xf32>
    %cst_161 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %829 = stablehlo.broadcast_in_dim %cst_161, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %830 = stablehlo.add %828, %829 : tensor<1024x1024xf32>
    %831 = stablehlo.divide %827, %830 : tensor<1024x1024xf32>
    %832 = stablehlo.subtract %arg7, %831 : tensor<1024x1024xf32>
    %cst_162 = stablehlo.constant dense<3.000000e-04> : tensor<f32>
    %833 = stablehlo.broadcast_in_dim %cst_162, dims = [] : (tensor<f32>) -> tensor<1024x4096xf32>
    %834 = stablehlo.multiply %833, %612 : tensor<1024x4096xf32>
    %835 = stablehlo.sqrt %716 : tensor<1024x4096xf32>
    %cst_163 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %836 = stablehlo.broadcast_in_dim %cst_163, dims = [] : (tensor<f32>) -> tensor<1024x4096xf32>
    %837 = stablehlo.add %835, %836 : tensor<1024x4096xf32>
    %838 = stablehlo.divide %834, %837 : tensor<1024x4096xf32>
    %839 = stablehlo.subtract %arg8, %838 : tensor<1024x4096xf32>
    %cst_164 = stablehlo.constant dense<3.000000e-04> : tensor<f32>
    %840 = stablehlo.broadcast_in_dim %cst_164, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %841 = stablehlo.multiply %840, %617 : tensor<1024x1024xf32>
    %842 = stablehlo.sqrt %722 : tensor<1024x1024xf32>
    %cst_165 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %843 = stablehlo.broadcast_in_dim %cst_165, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %844 = stablehlo.add %842, %843 : tensor<1024x1024xf32>
    %845 = stablehlo.divide %841, %844 : tensor<1024x1024xf32>
    %846 = stablehlo.subtract %arg9, %845 : tensor<1024x1024xf32>
    %cst_166 = stablehlo.constant dense<3.000000e-04> : tensor<f32>
    %847 = stablehlo.broadcast_in_dim %cst_166, dims = [] : (tensor<f32>) -> tensor<4096x1024xf32>
    %848 = stablehlo.multiply %847, %622 : tensor<4096x1024xf32>
    %849 = stablehlo.sqrt %728 : tensor<4096x1024xf32>
    %cst_167 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %850 = stablehlo.broadcast_in_dim %cst_167, dims = [] : (tensor<f32>) -> tensor<4096x1024xf32>
    %851 = stablehlo.add %849, %850 : tensor<4096x1024xf32>
    %852 = stablehlo.divide %848, %851 : tensor<4096x1024xf32>
    %853 = stablehlo.subtract %arg10, %852 : tensor<4096x1024xf32>
    %cst_168 = stablehlo.constant dense<3.000000e-04> : tensor<f32>
    %854 = stablehlo.broadcast_in_dim %cst_168, dims = [] : (tensor<f32>) -> tensor<1024x4096xf32>
    %855 = stablehlo.multiply %854, %627 : tensor<1024x4096xf32>
    %856 = stablehlo.sqrt %734 : tensor<1024x4096xf32>
    %cst_169 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %857 = stablehlo.broadcast_in_dim %cst_169, dims = [] : (tensor<f32>) -> tensor<1024x4096xf32>
    %858 = stablehlo.add %856, %857 : tensor<1024x4096xf32>
    %859 = stablehlo.divide %855, %858 : tensor<1024x4096xf32>
    %860 = stablehlo.subtract %arg11, %859 : tensor<1024x4096xf32>
    %cst_170 = stablehlo.constant dense<3.000000e-04> : tensor<f32>
    %861 = stablehlo.broadcast_in_dim %cst_170, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %862 = stablehlo.multiply %861, %632 : tensor<1024x1024xf32>
    %863 = stablehlo.sqrt %740 : tensor<1024x1024xf32>
    %cst_171 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %864 = stablehlo.broadcast_in_dim %cst_171, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %865 = stablehlo.add %863, %864 : tensor<1024x1024xf32>
    %866 = stablehlo.divide %862, %865 : tensor<1024x1024xf32>
    %867 = stablehlo.subtract %arg12, %866 : tensor<1024x1024xf32>
    %cst_172 = stablehlo.constant dense<3.000000e-04> : tensor<f32>
    %868 = stablehlo.broadcast_in_dim %cst_172, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %869 = stablehlo.multiply %868, %637 : tensor<1024xf32>
    %870 = stablehlo.sqrt %746 : tensor<1024xf32>
    %cst_173 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %871 = stablehlo.broadcast_in_dim %cst_173, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %872 = stablehlo.add %870, %871 : tensor<1024xf32>
    %873 = stablehlo.divide %869, %872 : tensor<1024xf32>
    %874 = stablehlo.subtract %arg13, %873 : tensor<1024xf32>
    %cst_174 = stablehlo.constant dense<3.000000e-04> : tensor<f32>
    %875 = stablehlo.broadcast_in_dim %cst_174, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %876 = stablehlo.multiply %875, %642 : tensor<1024xf32>
    %877 = stablehlo.sqrt %752 : tensor<1024xf32>
    %cst_175 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %878 = stablehlo.broadcast_in_dim %cst_175, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %879 = stablehlo.add %877, %878 : tensor<1024xf32>
    %880 = stablehlo.divide %876, %879 : tensor<1024xf32>
    %881 = stablehlo.subtract %arg14, %880 : tensor<1024xf32>
    %cst_176 = stablehlo.constant dense<3.000000e-04> : tensor<f32>
    %882 = stablehlo.broadcast_in_dim %cst_176, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %883 = stablehlo.multiply %882, %647 : tensor<1024x1024xf32>
    %884 = stablehlo.sqrt %758 : tensor<1024x1024xf32>
    %cst_177 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %885 = stablehlo.broadcast_in_dim %cst_177, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %886 = stablehlo.add %884, %885 : tensor<1024x1024xf32>
    %887 = stablehlo.divide %883, %886 : tensor<1024x1024xf32>
    %888 = stablehlo.subtract %arg15, %887 : tensor<1024x1024xf32>
    %cst_178 = stablehlo.constant dense<3.000000e-04> : tensor<f32>
    %889 = stablehlo.broadcast_in_dim %cst_178, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %890 = stablehlo.multiply %889, %652 : tensor<1024x1024xf32>
    %891 = stablehlo.sqrt %764 : tensor<1024x1024xf32>
    %cst_179 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %892 = stablehlo.broadcast_in_dim %cst_179, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %893 = stablehlo.add %891, %892 : tensor<1024x1024xf32>
    %894 = stablehlo.divide %890, %893 : tensor<1024x1024xf32>
    %895 = stablehlo.subtract %arg16, %894 : tensor<1024x1024xf32>
    %cst_180 = stablehlo.constant dense<3.000000e-04> : tensor<f32>
    %896 = stablehlo.broadcast_in_dim %cst_180, dims = [] : (tensor<f32>) -> tensor<1024x4096xf32>
    %897 = stablehlo.multiply %896, %657 : tensor<1024x4096xf32>
    %898 = stablehlo.sqrt %770 : tensor<1024x4096xf32>
    %cst_181 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %899 = stablehlo.broadcast_in_dim %cst_181, dims = [] : (tensor<f32>) -> tensor<1024x4096xf32>
    %900 = stablehlo.add %898, %899 : tensor<1024x4096xf32>
    %901 = stablehlo.divide %897, %900 : tensor<1024x4096xf32>
    %902 = stablehlo.subtract %arg17, %901 : tensor<1024x4096xf32>
    %cst_182 = stablehlo.constant dense<3.000000e-04> : tensor<f32>
    %903 = stablehlo.broadcast_in_dim %cst_182, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %904 = stablehlo.multiply %903, %662 : tensor<1024x1024xf32>
    %905 = stablehlo.sqrt %776 : tensor<1024x1024xf32>
    %cst_183 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %906 = stablehlo.broadcast_in_dim %cst_183, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %907 = stablehlo.add %905, %906 : tensor<1024x1024xf32>
    %908 = stablehlo.divide %904, %907 : tensor<1024x1024xf32>
    %909 = stablehlo.subtract %arg18, %908 : tensor<1024x1024xf32>
    return %783, %790, %797, %804, %811, %818, %825, %832, %839, %846, %853, %860, %867, %874, %881, %888, %895, %902, %909, %572, %577, %582, %587, %592, %597, %602, %607, %612, %617, %622, %627, %632, %637, %642, %647, %652, %657, %662, %668, %674, %680, %686, %692, %698, %704, %710, %716, %722, %728, %734, %740, %746, %752, %758, %764, %770, %776, %294 : tensor<32768x1024xf32>, tensor<4096x1024xf32>, tensor<1024x4096xf32>, tensor<1024x1024xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x4096xf32>, tensor<1024x1024xf32>, tensor<4096x1024xf32>, tensor<1024x4096xf32>, tensor<1024x1024xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x4096xf32>, tensor<1024x1024xf32>, tensor<32768x1024xf32>, tensor<4096x1024xf32>, tensor<1024x4096xf32>, tensor<1024x1024xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x4096xf32>, tensor<1024x1024xf32>, tensor<4096x1024xf32>, tensor<1024x4096xf32>, tensor<1024x1024xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x4096xf32>, tensor<1024x1024xf32>, tensor<32768x1024xf32>, tensor<4096x1024xf32>, tensor<1024x4096xf32>, tensor<1024x1024xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x4096xf32>, tensor<1024x1024xf32>, tensor<4096x1024xf32>, tensor<1024x4096xf32>, tensor<1024x1024xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x4096xf32>, tensor<1024x1024xf32>, tensor<f32>
  }
  func.func private @tril(%arg0: tensor<512x512xi1>) -> tensor<512x512xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<512x512xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<512x512xi32>
    %2 = stablehlo.add %0, %1 : tensor<512x512xi32>
    %3 = stablehlo.iota dim = 1 : tensor<512x512xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<512x512xi32>, tensor<512x512xi32>) -> tensor<512x512xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<512x512xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<512x512xi1>, tensor<512x512xi1>
    return %6 : tensor<512x512xi1>
  }
  func.func private @_where(%arg0: tensor<512x512xi1>, %arg1: tensor<64x16x512x512xf32>, %arg2: tensor<f32>) -> (tensor<64x16x512x512xf32>, tensor<64x16x512x512xi1>) {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<512x512xi1>) -> tensor<64x16x512x512xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<64x16x512x512xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<64x16x512x512xi1>, tensor<64x16x512x512xf32>
    return %3, %1 : tensor<64x16x512x512xf32>, tensor<64x16x512x512xi1>
  }
  func.func private @silu(%arg0: tensor<64x512x4096xf32>) -> (tensor<64x512x4096xf32>, tensor<64x512x4096xf32>, tensor<64x512x4096xf32>) {
    %0 = stablehlo.negate %arg0 : tensor<64x512x4096xf32>
    %1 = stablehlo.exponential %0 : tensor<64x512x4096xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64x512x4096xf32>
    %3 = stablehlo.add %2, %1 : tensor<64x512x4096xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<64x512x4096xf32>
    %5 = stablehlo.divide %4, %3 : tensor<64x512x4096xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<64x512x4096xf32>
    %7 = stablehlo.subtract %6, %5 : tensor<64x512x4096xf32>
    %8 = stablehlo.multiply %5, %7 : tensor<64x512x4096xf32>
    %9 = stablehlo.multiply %arg0, %5 : tensor<64x512x4096xf32>
    return %9, %8, %5 : tensor<64x512x4096xf32>, tensor<64x512x4096xf32>, tensor<64x512x4096xf32>
  }
  func.func private @log_softmax(%arg0: tensor<64x511x32768xf32>) -> (tensor<64x511x32768xf32>, tensor<64x511x32768xf32>, tensor<64x511x1xf32>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [2] : (tensor<64x511x32768xf32>, tensor<f32>) -> tensor<64x511xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<64x511xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<64x511xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<64x511xf32>) -> tensor<64x511x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<64x511x1xf32>) -> tensor<64x511x32768xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<64x511x32768xf32>
    %6 = stablehlo.exponential %5 : tensor<64x511x32768xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [2] : (tensor<64x511x32768xf32>, tensor<f32>) -> tensor<64x511xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<64x511xf32>) -> tensor<64x511x1xf32>
    %9 = stablehlo.log %8 : tensor<64x511x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<64x511x1xf32>) -> tensor<64x511x32768xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<64x511x32768xf32>
    return %11, %6, %8 : tensor<64x511x32768xf32>, tensor<64x511x32768xf32>, tensor<64x511x1xf32>
  }
  func.func private @take_along_axis(%arg0: tensor<64x511x32768xf32>, %arg1: tensor<64x511x1xi32>) -> (tensor<64x511x1xf32>, tensor<64x511x1x1xi32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<64x511x1xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<64x511x1xi32>, tensor<64x511x1xi32>) -> tensor<64x511x1xi1>
    %c_0 = stablehlo.constant dense<32768> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<64x511x1xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<64x511x1xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<64x511x1xi1>, tensor<64x511x1xi32>
    %5 = stablehlo.reshape %4 : (tensor<64x511x1xi32>) -> tensor<64x511x1x1xi32>
    %c_1 = stablehlo.constant dense<32767> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<64x511x1x1xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<64x511x1x1xi32>, tensor<64x511x1x1xi32>) -> tensor<64x511x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %c_1, dims = [3] : (tensor<1xi32>) -> tensor<1x1x1x1xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3] : (tensor<1x1x1x1xi32>) -> tensor<64x511x1x1xi32>
    %10 = stablehlo.compare LE, %5, %9, SIGNED : (tensor<64x511x1x1xi32>, tensor<64x511x1x1xi32>) -> tensor<64x511x1x1xi1>
    %11 = stablehlo.and %7, %10 : tensor<64x511x1x1xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %12 = stablehlo.reduce(%11 init: %c_3) applies stablehlo.and across dimensions = [3] : (tensor<64x511x1x1xi1>, tensor<i1>) -> tensor<64x511x1xi1>
    %13 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<64x511x32768xf32>, tensor<64x511x1x1xi32>) -> tensor<64x511x1xf32>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64x511x1xf32>
    %15 = stablehlo.select %12, %13, %14 : tensor<64x511x1xi1>, tensor<64x511x1xf32>
    return %15, %5 : tensor<64x511x1xf32>, tensor<64x511x1x1xi32>
  }
  func.func private @take_along_axis_0(%arg0: tensor<64x511x1x1xi32>, %arg1: tensor<64x511x1xf32>) -> tensor<64x511x32768xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64x511x32768xf32>
    %1 = "stablehlo.scatter"(%0, %arg0, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2], index_vector_dim = 3>, unique_indices = false}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<64x511x32768xf32>, tensor<64x511x1x1xi32>, tensor<64x511x1xf32>) -> tensor<64x511x32768xf32>
    return %1 : tensor<64x511x32768xf32>
  }
  func.func private @log_softmax_1(%arg0: tensor<64x511x32768xf32>, %arg1: tensor<64x511x1xf32>, %arg2: tensor<64x511x32768xf32>) -> tensor<64x511x32768xf32> {
    %0 = stablehlo.negate %arg2 : tensor<64x511x32768xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<64x511x32768xf32>, tensor<f32>) -> tensor<64x511xf32>
    %2 = stablehlo.reshape %1 : (tensor<64x511xf32>) -> tensor<64x511x1xf32>
    %3 = stablehlo.divide %2, %arg1 : tensor<64x511x1xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [2] : (tensor<64x511x1xf32>, tensor<f32>) -> tensor<64x511xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<64x511xf32>) -> tensor<64x511x32768xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<64x511x32768xf32>
    %7 = stablehlo.add %arg2, %6 : tensor<64x511x32768xf32>
    return %7 : tensor<64x511x32768xf32>
  }
  func.func private @silu_2(%arg0: tensor<64x512x4096xf32>, %arg1: tensor<64x512x4096xf32>, %arg2: tensor<64x512x4096xf32>, %arg3: tensor<64x512x4096xf32>) -> tensor<64x512x4096xf32> {
    %0 = stablehlo.multiply %arg2, %arg3 : tensor<64x512x4096xf32>
    %1 = stablehlo.multiply %arg3, %arg1 : tensor<64x512x4096xf32>
    %2 = stablehlo.multiply %0, %arg0 : tensor<64x512x4096xf32>
    %3 = stablehlo.add %1, %2 : tensor<64x512x4096xf32>
    return %3 : tensor<64x512x4096xf32>
  }
  func.func private @_where_3(%arg0: tensor<64x16x512x512xi1>, %arg1: tensor<64x16x512x512xf32>) -> tensor<64x16x512x512xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64x16x512x512xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<64x16x512x512xi1>, tensor<64x16x512x512xf32>
    return %1 : tensor<64x16x512x512xf32>
  }
}
