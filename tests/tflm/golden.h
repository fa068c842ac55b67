/* golden.h - made by golden.py from TensorFlow Lite Micro; see there. */
  { "sizes", 1, 1, 1, 1, 1, { UNIFORM, UNIFORM, UNIFORM }, 0u,
    { { 0x3d0e8727u, -127 }, { 0x3d254150u, -128 }, { 0x4002e8a9u, 127 },
      { 0x3fd4bc4cu, 12 }, { 0x3e44ce5au, 105 } },
    0x3f800000u, 0,
    NULL,
    "d4" },
  { "sizes", 1, 3, 2, 1, 5, { UNIFORM, UNIFORM, UNIFORM }, 1u,
    { { 0x3cd1b618u, -128 }, { 0x3d897866u, -113 }, { 0x3c4cb60fu, 53 },
      { 0x3c807ff6u, -128 }, { 0x3e70e332u, -31 } },
    0x3f800000u, 0,
    NULL,
    "808d808080808d808080808d808080" },
  { "sizes", 2, 2, 3, 2, 1, { UNIFORM, UNIFORM, UNIFORM }, 2u,
    { { 0x3f1d4798u, -35 }, { 0x3a96a0b9u, 81 }, { 0x3c13e973u, 127 },
      { 0x3c74f04au, 116 }, { 0x3e0bf941u, -128 } },
    0x3f800000u, 0,
    NULL,
    "554ff101" },
  { "sizes", 3, 2, 4, 3, 3, { UNIFORM, UNIFORM, UNIFORM }, 3u,
    { { 0x3d863678u, 35 }, { 0x3cd32affu, 0 }, { 0x3e3d6ae0u, 33 },
      { 0x3ddea8f8u, 56 }, { 0x3ecd1603u, -80 } },
    0x3f800000u, 0,
    NULL,
    "c47faa7feb92c42502807fdcc8e7d17f7f36" },
  { "sizes", 1, 4, 5, 7, 9, { UNIFORM, UNIFORM, UNIFORM }, 4u,
    { { 0x3eb7bb8au, 127 }, { 0x3ab84485u, -32 }, { 0x3fbfca7fu, -84 },
      { 0x40392978u, -72 }, { 0x3e3b1d5bu, 127 } },
    0x3f800000u, 0,
    NULL,
    "ed21fbbddae11cc21ded21fbbddae11cc21df71e06cdd8d60bd1010320ecbe08fa18c414" },
  { "sizes", 2, 3, 31, 40, 11, { UNIFORM, UNIFORM, UNIFORM }, 5u,
    { { 0x3b1245b4u, -81 }, { 0x3dc62718u, 127 }, { 0x3e9f0344u, -10 },
      { 0x3e674e59u, -14 }, { 0x3e3f769bu, 41 } },
    0x3f0768c2u, 0,
    NULL,
    "e70dfefdfa27e605f1c911e70dfefdfa27e605f1c911e70dfefdfa27e605f1c9110810f82cecf0efee021bf40810f82cecf0efee"
    "021bf40810f82cecf0efee021bf4" },
  { "sizes", 1, 2, 130, 8, 40, { UNIFORM, UNIFORM, UNIFORM }, 6u,
    { { 0x3dedb7abu, -103 }, { 0x3c12b478u, -96 }, { 0x3b00d387u, -82 },
      { 0x3b25e322u, -64 }, { 0x3ece0d03u, -49 } },
    0x3f800000u, 0x3da799b0u,
    "0001030506080a0b0d0e1012131516181a1b1d1e2022232526282a2b2d2f3032333537383a3b3d3f4042434547484a4c4d4f5052"
    "545557585a5c5d5f6062646567686a6c6d6f7172747577797a7c7d7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f"
    "7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f"
    "7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f"
    "7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f",
    "020afa0301fb070400010406fc00f702fd01f706020009fbfa06020e000609050400fc00fefdfffb020afa0301fb070400010406"
    "fc00f702fd01f706020009fbfa06020e000609050400fc00fefdfffb" },
  { "sizes", 2, 2, 64, 16, 16, { UNIFORM, UNIFORM, UNIFORM }, 7u,
    { { 0x3b419155u, 127 }, { 0x3da364ddu, 127 }, { 0x3c19388du, 53 },
      { 0x3c555aaeu, 38 }, { 0x3e0422ecu, 58 } },
    0x3f800000u, 0,
    NULL,
    "0afffc060dfbfdfe04050204faf4f6030afffc060dfbfdfe04050204faf4f603fb05080e03f90a0a01f9fe0405fcfe0afb05080e"
    "03f90a0a01f9fe0405fcfe0a" },
  { "sizes", 1, 5, 17, 33, 13, { UNIFORM, UNIFORM, UNIFORM }, 8u,
    { { 0x3b8d648fu, 102 }, { 0x3d2de232u, 127 }, { 0x3fba4f82u, -128 },
      { 0x3f05f32au, -128 }, { 0x3e1383dbu, 0 } },
    0x3f800000u, 0,
    NULL,
    "7f7f7f7f7f657f7f7f7f7f7f7f7f7f7f7f7f657f7f7f7f7f7f7f7f7f7f7f7f657f7f7f7f7f7f7f7f7f7f7f7f657f7f7f7f7f7f7f"
    "7f7f7f7f7f657f7f7f7f7f7f7f" },
  { "sizes", 2, 1, 97, 5, 21, { UNIFORM, UNIFORM, UNIFORM }, 9u,
    { { 0x3deb9f41u, -53 }, { 0x3a9c294fu, -37 }, { 0x3d3bb633u, 97 },
      { 0x3d769226u, 111 }, { 0x3d2bde85u, -27 } },
    0x3f800000u, 0,
    NULL,
    "2a3214112028272b49241b2223292e0f0f2c2710272119153b1918312e21231b392c1a21202129273f25" },
  { "sizes", 1, 3, 128, 32, 31, { UNIFORM, UNIFORM, UNIFORM }, 10u,
    { { 0x3ccc3f2fu, -57 }, { 0x3c163087u, -38 }, { 0x3d84633eu, 127 },
      { 0x3cd91cedu, 127 }, { 0x3e353e75u, -31 } },
    0x3f800000u, 0,
    NULL,
    "80808080808080c280ae80c280808080118138808080e0801280808080808080808ea9b8808080b78080808ce88580e280a680b1"
    "a0da8080809f808089a380808f8080808080808080808087808080808080808080808080a380808080" },
  { "sizes", 3, 2, 33, 12, 20, { UNIFORM, UNIFORM, UNIFORM }, 11u,
    { { 0x3d3d0adcu, -13 }, { 0x3c8d2e55u, 95 }, { 0x3b11f284u, 13 },
      { 0x3ac82557u, 19 }, { 0x3ec12144u, 90 } },
    0x3f800000u, 0x3e2bde9du,
    "80808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080"
    "80808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080818182828384"
    "8485868687888889898a8b8b8c8d8d8e8e8f909091929293939495959697979898999a9a9b9c9c9d9d9e9f9fa0a1a1a2a3a3a4a4"
    "a5a6a6a7a8a8a9a9aaababacadadaeaeafb0b0b1b2b2b3b3b4b5b5b6b7b7b8b9b9bababbbcbcbdbebebfbfc0c1c1c2c3c3c4c4c5"
    "c6c6c7c8c8c9c9cacbcbcccdcdcecfcfd0d0d1d2d2d3d4d4d5d5d6d7d7d8d9d9dadadbdcdcdddededfdfe0e1e1e2e3e3",
    "16190cee0bf5e70fe7120509e6e81a0101f50122f55ff009e409f41dca392fcaedea1b0bf611d7f8147ff7041627e9380f5be359"
    "35ec0044f3f3efdbef789202714643390c3a2e5a1e95cd65c58032cf012204e8da0408e019250f1c1210eec2f9f40438e50eebf8"
    "f2fb14ecf914e9f6f9efe3e6fa160e28" },
  { "spread", 2, 3, 70, 36, 32, { UNIFORM, UNIFORM, UNIFORM }, 100u,
    { { 0x3c86eb57u, -54 }, { 0x3917634du, 127 }, { 0x3e894bcau, 46 },
      { 0x3e96997au, 42 }, { 0x3c000000u, -81 } },
    0x3f800000u, 0,
    NULL,
    "0902fdf6f6faf501f404f8feffeff8fdfff9f407faf104f8f0f605fcf4f3f5f70902fdf6f6faf501f404f8feffeff8fdfff9f407"
    "faf104f8f0f605fcf4f3f5f70902fdf6f6faf501f404f8feffeff8fdfff9f407faf104f8f0f605fcf4f3f5f7020afbfdf50a02fb"
    "f5f5eaf5f6f0f6f704f806e302faf9eceef600f40202fd0a020afbfdf50a02fbf5f5eaf5f6f0f6f704f806e302faf9eceef600f4"
    "0202fd0a020afbfdf50a02fbf5f5eaf5f6f0f6f704f806e302faf9eceef600f40202fd0a" },
  { "spread", 2, 3, 71, 24, 5, { UNIFORM, UNIFORM, UNIFORM }, 101u,
    { { 0x3dab9d45u, -104 }, { 0x379b0441u, -8 }, { 0x3b85b658u, -47 },
      { 0x3b2639bau, -76 }, { 0x3b881f72u, -128 } },
    0x4070b949u, 0,
    NULL,
    "f8fbf806f9f9f9fe06fcf8fff90af8f3120debfcf3120ee9fbf30d0ce8f9" },
  { "spread", 1, 1, 52, 26, 14, { UNIFORM, UNIFORM, UNIFORM }, 102u,
    { { 0x3d2a1e58u, -3 }, { 0x398d4778u, 0 }, { 0x3bb6486cu, 0 },
      { 0x3c26a5fbu, 0 }, { 0x3d000000u, 127 } },
    0x3f800000u, 0,
    NULL,
    "fbfe0409f90602020602fd030bfc" },
  { "spread", 2, 3, 38, 29, 19, { UNIFORM, UNIFORM, UNIFORM }, 103u,
    { { 0x3d343fa4u, -71 }, { 0x39c60c51u, 7 }, { 0x3c941b7bu, 127 },
      { 0x3d202365u, 59 }, { 0x3d48c96au, -96 } },
    0x3fa332b0u, 0,
    NULL,
    "fff902f8f010fefc08fbfb0609faf2fe0701fcf9f8fdfaea11f2fb02f5f40a0efcedfd06f90100faf800f00e00fc0bfdfc0806f9"
    "f6020e02f6fdff02050001f80304f903fc050506f404fefbf9f900fcfef8fb0cffedff000d030cf4fefff5fffbf7070100fc000c"
    "f6000406ff0bf1fc09f7" },
  { "spread", 1, 3, 54, 22, 13, { UNIFORM, UNIFORM, UNIFORM }, 104u,
    { { 0x3b597a33u, -128 }, { 0x3c70482cu, -128 }, { 0x3de2f588u, -84 },
      { 0x3e1f1d61u, -7 }, { 0x3e000000u, 9 } },
    0x3f800000u, 0,
    NULL,
    "3c3736373b3c2c39354836333f3931343338382935334032303c39313432383928363140322f3c" },
  { "spread", 2, 3, 17, 39, 33, { UNIFORM, UNIFORM, UNIFORM }, 105u,
    { { 0x3da7e801u, 49 }, { 0x3a69bf65u, 127 }, { 0x3e9aca01u, -128 },
      { 0x3e997ab5u, -128 }, { 0x3e800000u, 61 } },
    0x3f800000u, 0,
    NULL,
    "d0e527e20a2fd21a02e3dd30f436ecb35ed44ff2011714d1bbfeb414fd07fbf5f6f7050e02f6fbe8ff0218fffa22fc03f4150118"
    "f6f8070dfbf6ed06100e16f2ee1c1d0d13d802f002e60bdaebe731ca10da0d1200c5ed0c25f4efc90c0b1612fcf61adffbf2070f"
    "e1f10803110500e0fa08f607f30b060feffc11140be41411faeff7efdafeedf700e1f0000d180bfee7f70504fdfefe0514e20223"
    "0a07d22408e8fc00f1dffbf2070fe1f10803110500e0fa08f607f30b060feffc11140be41411faeff7ef" },
  { "spread", 2, 2, 22, 35, 37, { UNIFORM, UNIFORM, UNIFORM }, 106u,
    { { 0x3b26921fu, 102 }, { 0x3e1356f1u, 93 }, { 0x3e02dce8u, 91 },
      { 0x3eb53a7cu, 33 }, { 0x3f97a6b6u, -128 } },
    0x3ed81323u, 0,
    NULL,
    "dd1bd614e3eb20ef0beed3fd042be7f10e0fe629fbd9e7121812d5da0ef22518f6f5fde4d8e11bd912e5eb1df00bedd5fd0329ea"
    "f30d11e825fcdae9111713d8dc0df12313f5f5fee5dcdd0a0bec04f004ee23e5fd1ce72a290adafee909f8210513f1fee9ffeaf2"
    "19e900131bf7ffe7fff9fcfbe502070004f60efb230c0eeb0bf7060602ed080402ed0df5eb07f0f016110ff3" },
  { "spread", 2, 1, 22, 29, 5, { UNIFORM, UNIFORM, UNIFORM }, 107u,
    { { 0x3e262822u, 54 }, { 0x3b08f638u, 127 }, { 0x3fa90705u, -128 },
      { 0x3f1f865eu, -128 }, { 0x3f800000u, -89 } },
    0x3f800000u, 0,
    NULL,
    "7ff07f7f7f2d7f587e10" },
  { "spread", 1, 1, 58, 17, 28, { UNIFORM, UNIFORM, UNIFORM }, 108u,
    { { 0x3dd0c235u, -128 }, { 0x390e6129u, 127 }, { 0x3cb7d91fu, 127 },
      { 0x3c3c85f1u, 127 }, { 0x3c000000u, 51 } },
    0x3f800000u, 0,
    NULL,
    "8f9fa2b39dab8ebaa7ac90c3a8a1a3a5a19d9b97809fa79d96a99498" },
  { "spread", 1, 3, 67, 19, 38, { UNIFORM, UNIFORM, UNIFORM }, 109u,
    { { 0x3e327a02u, -70 }, { 0x391d873au, -16 }, { 0x3b739ca4u, -63 },
      { 0x3abdbebeu, -128 }, { 0x3c800000u, -128 } },
    0x3f800000u, 0,
    NULL,
    "1f0d3200150c2119f910100b1b26272003054b2b3b462c00f800d437171d14fa2306332b310d2a0e37e6f8082e272225070714fd"
    "441406fa65323b374cfdfd1cd625191f20fc16242c1b5e131501231e0920452c2520e3603823362c1ce75e2d2f30192a1f1dd94b"
    "34374b246d2213266505" },
  { "spread", 2, 2, 44, 21, 22, { UNIFORM, UNIFORM, UNIFORM }, 110u,
    { { 0x3e48c3afu, -10 }, { 0x39fe1bc1u, 127 }, { 0x3dce950bu, -128 },
      { 0x3e8b9094u, -58 }, { 0x3d742de8u, -11 } },
    0x3f06324bu, 0,
    NULL,
    "ffece708fbf0eee1faf2eafdeef3f20302e708ebf5f304eaeb06f3f4edf2fcebf605fbfb0205fef400e8f7f0f3f4f7f7edf3f2fe"
    "f8f4f7fbfafbf0f3f5f0fdf5f4f2eef1fcf8f0f8edeff7ee04f6fef3f3ebf0fb05f6f6f2" },
  { "spread", 1, 3, 62, 13, 35, { UNIFORM, UNIFORM, UNIFORM }, 111u,
    { { 0x3cdbbf35u, -35 }, { 0x3b9aacf9u, 42 }, { 0x3d8de28du, 127 },
      { 0x3d979585u, 120 }, { 0x3d800000u, -128 } },
    0x3f800000u, 0,
    NULL,
    "0f0c13e6e7e42b002c12e7e7edebe5eaef19e9f5eff61df5f4fdcdfdf10a1e14edeed8efffe3f0e0f314f6020df8f6f8ecfdf103"
    "f6da07f0f301ee00dce102fff9fa0001e80cfc0e01f6e7ef07000609fceeedefeefde5ebe80d010cf9ffffeaeeeeedf804f6efee"
    "fa" },
  { "spread", 2, 3, 71, 9, 35, { UNIFORM, UNIFORM, UNIFORM }, 112u,
    { { 0x3f4caa68u, -128 }, { 0x39c79863u, 72 }, { 0x3fccdbf4u, -128 },
      { 0x3f6f5bd5u, -128 }, { 0x3e000000u, 98 } },
    0x3f800000u, 0,
    NULL,
    "daa87f4254fad6a07f7f7575957f7faf7f7fc47f0cd47fe47f0164ca72af7f5d5e6c23c4669c63dc5fdcfb907f7f6432dde365f4"
    "6e4c7f7f7fe67f7b4ce71abf7f7b9b33d9e97f3732307ff34e7f7f7fe27f1c597f7f6c33cf7f7f7f7f577f277f7fc77f5c297f7f"
    "a1fff9a818937f536e24c97f7e017f7f7f937fe9427f647f464e7f7ffb7f277f7fda7f47467f7f7f757f7f717fcc434e41f80273"
    "207fde7f7fd6797f7f327f73f149b76949617ffae0cc09ba6d466a0be77f7ff57f7f7f927fde257f6c7f355a7f79027f1e7f7fec"
    "7f5c" },
  { "spread", 2, 1, 63, 34, 34, { UNIFORM, UNIFORM, UNIFORM }, 113u,
    { { 0x3c9a77f8u, 93 }, { 0x3bbcee23u, 127 }, { 0x3c42ee54u, 111 },
      { 0x3cb5436au, 60 }, { 0x3db1bc58u, 83 } },
    0x40385d16u, 0,
    NULL,
    "fb0607fafcfe0202fefefbfd020206000bf8010308fcfb05fbfd01fb05fbfffcfefcfb0603fffe0105fdfcf80102fefefaf90304"
    "0000050303ff03fd09fff6f7060af708" },
  { "spread", 2, 2, 50, 17, 28, { UNIFORM, UNIFORM, UNIFORM }, 114u,
    { { 0x3c8397cbu, -4 }, { 0x3d61ded5u, -128 }, { 0x3d1749d4u, 40 },
      { 0x3c974fdbu, 80 }, { 0x3f000000u, 65 } },
    0x3f800000u, 0,
    NULL,
    "0fd636e3ddf8fc19f1eead5213d7df3b2100151fa0f627050608f0ea807f808080767f0c7f0c7f0680347f7f7f7f802ae87f667f"
    "800a7f858f7f80ed807c5b7feb7f6d5c7f9fb67f7f91be6de37f7fbe7f80fa7fba8ec28069e77f59c2fbb254ef7fe680684b8080"
    "80129f807fe8852a" },
  { "spread", 2, 3, 58, 27, 20, { UNIFORM, UNIFORM, UNIFORM }, 115u,
    { { 0x3cb962fdu, -128 }, { 0x3efca352u, 127 }, { 0x3b979746u, 0 },
      { 0x3b0ed3beu, 0 }, { 0x40fe2fc1u, 109 } },
    0x3f800000u, 0x3f800000u,
    "80808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080"
    "80808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080"
    "808080808080808080808080808080808080808080808080808080808080808080808080818283858688898b8c8d8f9092939596"
    "97999a9c9d9fa0a1a3a4a6a7a9aaabadaeb0b1b3b4b5b7b8babbbdbebfc1c2c4c5c7c8c9cbcccecfd0d2d3d5d6d8d9dadcdddfe0"
    "e2e3e4e6e7e9eaecedeef0f1f3f4f6f7f8fafbfdfe000102040507080a0b0c0e0f111214151618191b1c1e1f20222325",
    "1cf5f6e603101c02122a13f90af6000f27f6ec1e1cf5f6e603101c02122a13f90af6000f27f6ec1e1cf5f6e603101c02122a13f9"
    "0af6000f27f6ec1e1f20ec1bf2e2edeb0c0fed0a13f4ffe40702070a1f20ec1bf2e2edeb0c0fed0a13f4ffe40702070a1f20ec1b"
    "f2e2edeb0c0fed0a13f4ffe40702070a" },
  { "spread", 2, 3, 63, 4, 38, { UNIFORM, UNIFORM, UNIFORM }, 116u,
    { { 0x3e68117cu, 35 }, { 0x3a040531u, -104 }, { 0x3f0d7bfdu, 0 },
      { 0x3f5fc496u, 0 }, { 0x3c000000u, 78 } },
    0x3f800000u, 0,
    NULL,
    "06fafef6f701f80106fefcf8000006fc010505f8fcf7fe000910fc120bfafbfff609fbfc0bfffff704f3f808030205fff8fc0508"
    "08fd0a09fff9fdf4f9010f13fe1002fdfa00f200f600070601fc02f2f600fc0201050001fd0308fd050904f9fdf6fb040a12fb0f"
    "03fd01fdfb04f9fc0a04040afaf5f8f6fa060d0ff9fb07fd0afe05f50804fdf70b010707fdfbf900f102f5fbfafa05fe000a00fa"
    "00f5faff010cfd0005f9070300f70203f9f605ff0508010100faf5fdf1fafcfc0303ff0d0608fdf2f400030ef80701f30a06fffd"
    "fefdf9f80602050dff0001f702f7eefefcf90000" },
  { "spread", 2, 1, 13, 28, 36, { UNIFORM, UNIFORM, UNIFORM }, 117u,
    { { 0x3d8c2440u, -5 }, { 0x3a1515b7u, -73 }, { 0x3d37575du, 15 },
      { 0x3d631c96u, 127 }, { 0x3be6f12bu, 24 } },
    0x400de36eu, 0,
    NULL,
    "7e6d7f55727a656b6f5c61796c7f707f7f577a7f7c5e737f7f6e7f7f737f745a7f797657747b59696b7f5b746f7b70717f756d7f"
    "645d5c4863675c7f737879786b717f7f7f786d7f" },
  { "spread", 2, 2, 64, 27, 22, { UNIFORM, UNIFORM, UNIFORM }, 118u,
    { { 0x3d879989u, -99 }, { 0x3b2dee34u, 36 }, { 0x3f2cb9f3u, -3 },
      { 0x3ef4c72fu, -47 }, { 0x3d000000u, 0 } },
    0x3f800000u, 0,
    NULL,
    "e9c7cfe1d2ececd4e0e4dfcde0d2d8e3ccdbd2c4dddff0c6d7edcbf5e4dfe6f2d9d1d5dde6e1cee9dfd0daed80b815851d4c60df"
    "04ae50a480472fd444805880522fbb1bf4f1f3a9bdf6a594a6f7dacecb0abfbff0deaebe" },
  { "spread", 2, 1, 14, 2, 31, { UNIFORM, UNIFORM, UNIFORM }, 119u,
    { { 0x3e86dc99u, -119 }, { 0x3ba0a3c1u, -128 }, { 0x4009bfccu, -26 },
      { 0x4074f277u, -15 }, { 0x3d800000u, 115 } },
    0x3f800000u, 0,
    NULL,
    "fffcee1d0b1207f100fbfaebfafc0bfbfd0a05ff09f50703e90100eef500f905e60afbfe02fbfbfefb00f100fbf30002fef40810"
    "e50df3faf104feffecf5" },
  { "spread", 1, 3, 25, 6, 21, { UNIFORM, UNIFORM, UNIFORM }, 120u,
    { { 0x3dca35bbu, -128 }, { 0x3cb5e274u, 45 }, { 0x3ff568b6u, -93 },
      { 0x3f8dcffeu, -128 }, { 0x3e3c30bcu, 24 } },
    0x400d7378u, 0x3d67a7f7u,
    "80808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080"
    "808080808080808080808081828384868788898b8c8d8e8f91929394969798999b9c9d9e9fa1a2a3a4a6a7a8a9aaacadaeafb1b2"
    "b3b4b6b7b8b9babcbdbebfc1c2c3c4c5c7c8c9cacccdcecfd1d2d3d4d5d7d8d9dadcdddedfe0e2e3e4e5e7e8e9eaecedeeeff0f2"
    "f3f4f5f7f8f9fafcfdfeff00020304050708090a0b0d0e0f10121314151718191a1b1d1e1f20222324252628292a2b2d2e2f3032"
    "3334353638393a3b3d3e3f40414344454648494a4b4d4e4f50515354555658595a5b5d5e5f60616364656668696a6b6c",
    "8e48f62fad33c44ffd1f087f25220c45e6f3ca694a973741f8ac1986fd087fbe7f04fd3d0d37efae2d0ccb7ff6ae027f8080227f"
    "807fc7803c87318080cd26" },
  { "spread", 1, 3, 19, 11, 18, { UNIFORM, UNIFORM, UNIFORM }, 121u,
    { { 0x3f0722e1u, 127 }, { 0x3b88b735u, 0 }, { 0x402c0483u, 0 },
      { 0x3fb8ebceu, 0 }, { 0x3e800000u, -109 } },
    0x3f800000u, 0,
    NULL,
    "32201b97e17b03d49811ef1a6b34e8299a0c00e8f8d70e6cd9b8dd50bfeb7413cd59b94015a3f980f162bc928c21a3177f46a638"
    "8022" },
  { "spread", 2, 3, 19, 39, 32, { UNIFORM, UNIFORM, UNIFORM }, 122u,
    { { 0x3b2af2d4u, -127 }, { 0x40c141b6u, 127 }, { 0x3fa6e784u, -11 },
      { 0x3f601008u, 72 }, { 0x40577d44u, 89 } },
    0x3f800000u, 0x3f000000u,
    "80808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080"
    "80808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080"
    "808080808080808080808080808080808080808080808080818282838485868788898a8b8c8d8e8e8f909192939495969798999a"
    "9b9b9c9d9e9fa0a1a2a3a4a5a6a7a7a8a9aaabacadaeafb0b1b2b3b4b4b5b6b7b8b9babbbcbdbebfc0c0c1c2c3c4c5c6c7c8c9ca"
    "cbcccdcdcecfd0d1d2d3d4d5d6d7d8d9d9dadbdcdddedfe0e1e2e3e4e5e6e6e7e8e9eaebecedeeeff0f1f2f2f3f4f5f6",
    "456e774b63144344555e4968584d7f4a4a44326b412d4e6053657d475378554a456e774b63144344555e4968584d7f4a4a44326b"
    "412d4e6053657d475378554a456e774b63144344555e4968584d7f4a4a44326b412d4e6053657d475378554a265b7f5a6e574c50"
    "4c3d635c5d75494a5d633d7f5b725e5864795c6356214c48265b7f5a6e574c504c3d635c5d75494a5d633d7f5b725e5864795c63"
    "56214c48265b7f5a6e574c504c3d635c5d75494a5d633d7f5b725e5864795c6356214c48" },
  { "spread", 2, 1, 12, 35, 17, { UNIFORM, UNIFORM, UNIFORM }, 123u,
    { { 0x3f375aa3u, -15 }, { 0x3b955782u, 127 }, { 0x3dbdd9c1u, -73 },
      { 0x3d7bc6f9u, -110 }, { 0x3f29331du, -119 } },
    0x3fc1aa29u, 0,
    NULL,
    "18010815f7f41f26d10df8ef00c20c0bdae8e3fe23dd0627f20b1b0618e8f819473d" },
  { "codes", 2, 3, 40, 9, 14, { EXTREME, EXTREME, EXTREME }, 200u,
    { { 0x3b981cf1u, 25 }, { 0x3e17b1f6u, 44 }, { 0x3d80007bu, 6 },
      { 0x3d9797fau, -102 }, { 0x3e109adau, -52 } },
    0x3f800000u, 0,
    NULL,
    "808e80bfc59b9bc580b88e8e808089cfa0cfe789a0b8a0a0cf89a0a08095abab8f80b684848484809f80a4858595a4b3a4b3c280"
    "b3a485808000d1808080e9800080e900d1e98095afcaaf95caafcaaf9595af95" },
  { "codes", 2, 3, 41, 10, 14, { UNIFORM, EXTREME, UNIFORM }, 201u,
    { { 0x3d0b2cd8u, -74 }, { 0x3d139f47u, 0 }, { 0x3b37cce6u, -116 },
      { 0x3b228fe1u, -128 }, { 0x3e87b7c4u, -14 } },
    0x3fd1b9bbu, 0,
    NULL,
    "f43d3de00e0c10232007c0f9fee2e82c16f3022f002e11e607301303eaf724e2040f15590ff5cd3d2dd6f91fe4f40933fc10faf4"
    "232e1508fe0c040522d4ffd915eeff1e28f6e9f9f2020af2fcf90bf3ff1825ea" },
  { "codes", 2, 3, 42, 11, 14, { EXTREME, UNIFORM, EXTREME }, 202u,
    { { 0x3e0a4ea0u, -31 }, { 0x3bc3e9f9u, -128 }, { 0x3dd056afu, 114 },
      { 0x3e25e723u, 72 }, { 0x3e3bba73u, 127 } },
    0x3f800000u, 0,
    NULL,
    "f9f92cd6e71c3d2c091c0af7e7f7fcf702feed020218fc0d00f6f2edfafdf605f8040114fc160c04f80105ffdf2605edf7d5e717"
    "0def0d05b150b150504fb14f5050b1504fb2fa01e72309e7f6e3f20909fd0909" },
  { "codes", 2, 3, 43, 12, 14, { NARROW, NARROW, NARROW }, 203u,
    { { 0x3df2ca7eu, -25 }, { 0x3c7f0ee8u, 127 }, { 0x3fac95a8u, 22 },
      { 0x40504967u, 9 }, { 0x3ee00e44u, 98 } },
    0x3ebd3cb0u, 0x3e03adf1u,
    "80808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080"
    "80808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080"
    "80808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080818182"
    "83848586878788898a8b8c8d8d8e8f9091929393949596979899999a9b9c9d9e9e9fa0a1a2a3a4a4a5a6a7a8a9aaaaabacadaeaf"
    "b0b0b1b2b3b4b5b6b6b7b8b9babbbcbcbdbebfc0c1c2c2c3c4c5c6c7c8c8c9cacbcccdcececfd0d1d2d3d4d4d5d6d7d8",
    "090a0a0a0a0a0a090a090a0a0a0a090a0a0a0a0a0a090a090a0a0a0a090a0a0a0a0a0a090a090a0a0a0a0a0a0a0a0a0a0a090a0a"
    "0a0a0a0a0a0a0a0a0a0a0a090a0a0a0a0a0a0a0a0a0a0a0a0a090a0a0a0a0a0a" },
  { "codes", 2, 3, 44, 13, 14, { UNIFORM, EQUAL, UNIFORM }, 204u,
    { { 0x3c1ba1ffu, 0 }, { 0x3d74b317u, 24 }, { 0x400c028eu, -4 },
      { 0x3fa72c71u, 0 }, { 0x3e0f6aa9u, -27 } },
    0x3ea12c67u, 0,
    NULL,
    "02fe0c0231fb141712fef43317e002fe0c0231fb141712fef43317e002fe0c0231fb141712fef43317e0140a220e0412f603f7f4"
    "ff13fe36140a220e0412f603f7f4ff13fe36140a220e0412f603f7f4ff13fe36" },
  { "codes", 2, 3, 45, 14, 14, { EQUAL, EQUAL, EQUAL }, 205u,
    { { 0x3ef62a54u, -16 }, { 0x3b644e99u, -128 }, { 0x3f403092u, 40 },
      { 0x3ecb3864u, -46 }, { 0x3edba2d7u, -118 } },
    0x3f800000u, 0,
    NULL,
    "d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2"
    "d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2" },
  { "codes", 2, 3, 46, 15, 14, { NARROW, UNIFORM, EXTREME }, 206u,
    { { 0x3f524348u, 75 }, { 0x3a3ba880u, 0 }, { 0x3e845976u, -6 },
      { 0x3eb35975u, -4 }, { 0x3e1f9d04u, -8 } },
    0x3fc55378u, 0,
    NULL,
    "5c5ea25ca2a25c5ca45c5c5c5c5c575da358a3a25658a958585856584f5da352a4a24f52b15252524f52a2a2a2a25ea2a25e5e5e"
    "a2a2a2a2a2a2a2a25ea2a25e5e5ea2a2a2a2a2a2a2a25ea2a25e5e5ea2a2a2a2" },
  { "codes", 2, 3, 47, 16, 14, { UNIFORM, NARROW, NARROW }, 207u,
    { { 0x3ca630f3u, -66 }, { 0x3d453a2bu, 101 }, { 0x3d78c75au, -128 },
      { 0x3cb10179u, 0 }, { 0x3e88f07cu, 50 } },
    0x3f800000u, 0x3d6f155au,
    "80808081828384858687898a8b8c8d8e8f9092939495969798999b9c9d9e9fa0a1a2a4a5a6a7a8a9aaacadaeafb0b1b2b3b5b6b7"
    "b8b9babbbcbebfc0c1c2c3c4c5c7c8c9cacbcccdced0d1d2d3d4d5d6d7d9dadbdcdddedfe1e2e3e4e5e6e7e8eaebecedeeeff0f1"
    "f3f4f5f6f7f8f9fafcfdfeff0001020305060708090a0b0c0e0f1011121314161718191a1b1c1d1f2021222324252628292a2b2c"
    "2d2e2f31323334353637383a3b3c3d3e3f4041434445464748494b4c4d4e4f5051525455565758595a5b5d5e5f60616263646667"
    "68696a6b6c6d6f7071727374757678797a7b7c7d7e7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f",
    "7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f"
    "7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f" },
  { "map", 1, 3, 50, 16, 30, { UNIFORM, UNIFORM, UNIFORM }, 300u,
    { { 0x3c1f59c2u, -9 }, { 0x3d474b8bu, 127 }, { 0x3be7023du, 115 },
      { 0x3beb62e3u, 51 }, { 0x3e84adf5u, 0 } },
    0x3f6c3e14u, 0x3d0ab477u,
    "80808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080"
    "80808082848688898b8d8f9092949698999b9d9fa0a2a4a6a8a9abadafb0b2b4b6b8b9bbbdbfc0c2c4c6c8c9cbcdcfd0d2d4d6d8"
    "d9dbdddfe0e2e4e6e8e9ebedeff0f2f4f6f8f9fbfdff0002040608090b0d0f1012141618191b1d1f2022242628292b2d2f303234"
    "3638393b3d3f4042444648494b4d4f5052545658595b5d5f6062646668696b6d6f7072747678797b7d7f7f7f7f7f7f7f7f7f7f7f"
    "7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f",
    "b7ccc1e3b9bdcbccb0d8decffda8cddcc0ccdcacddc1ae8eb0bdbde096a9bacad3c6d3afbbbec1c0c1c5bdbdc8c9ccd0daa8cec7"
    "ccb7adc3d5c6babfccc0e3a6e788bf99b3a1a5bea7a8e4d2bc96f1a7f7bfacc790a1fea5cfc5" },
  { "map", 1, 3, 50, 16, 30, { UNIFORM, UNIFORM, UNIFORM }, 301u,
    { { 0x3eaed906u, -37 }, { 0x3a77bc10u, -43 }, { 0x3b805d4bu, -6 },
      { 0x3c023060u, -3 }, { 0x3e34f7a5u, -31 } },
    0x3f800000u, 0x3d800000u,
    "bdbebfbfc0c1c1c2c3c3c4c5c5c6c7c7c8c9c9cacbcbcccdcdcecfcfd0d1d1d2d3d3d4d5d5d6d7d7d8d9d9dadbdbdcdddddedfdf"
    "e0e1e1e2e3e3e4e5e5e6e7e7e8e9e9eaebebecededeeefeff0f1f1f2f3f3f4f5f5f6f7f7f8f9f9fafbfbfcfdfdfeffff00010102"
    "03030405050607070809090a0b0b0c0d0d0e0f0f1011111213131415151617171819191a1b1b1c1d1d1e1f1f2021212223232425"
    "252627272829292a2b2b2c2d2d2e2f2f3031313233333435353637373839393a3b3b3c3d3d3e3f3f404141424343444545464747"
    "4849494a4b4c4c4d4e4e4f5050515252535454555656575858595a5a5b5c5c5d5e5e5f60606162626364646566666768",
    "ef02f700ff04f5fcfef9f2eff6f01413f9fbfd0207f410f8f9f10801060dfd0ff9fffd0e06ff16fe03ecfdef0e1606fcfef818eb"
    "02faf808f4fa100ef404fdfcfd08f7fdff07f3f3fae60c20eef7fd0309f10301ecf7fc000c11" },
  { "map", 1, 3, 50, 16, 30, { UNIFORM, UNIFORM, UNIFORM }, 302u,
    { { 0x3e350117u, 13 }, { 0x3b69b416u, 49 }, { 0x3fa177c1u, -128 },
      { 0x401ef8d4u, -65 }, { 0x3eb0ba96u, 127 } },
    0x3f800000u, 0x3e000000u,
    "80808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080"
    "80808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080"
    "80808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080"
    "80808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080"
    "808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080",
    "fefcf5fcfe010002fbfb06fe080004f8fb05f908f908fcfefcf6000303fbfefcf5fcfe010002fbfb06fe080004f8fb05f908f908"
    "fcfefcf6000303fbfefcf5fcfe010002fbfb06fe080004f8fb05f908f908fcfefcf6000303fb" },
  { "map", 1, 3, 50, 16, 30, { UNIFORM, UNIFORM, UNIFORM }, 303u,
    { { 0x3e8800b8u, -45 }, { 0x3c222ab3u, 54 }, { 0x3c0aebc8u, 127 },
      { 0x3b8e8c22u, 127 }, { 0x3fb84952u, 0 } },
    0x3f800000u, 0x3e800000u,
    "80808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080"
    "80808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808182"
    "83858688898b8c8e8f909293959698999a9c9d9fa0a2a3a5a6a7a9aaacadafb0b2b3b4b6b7b9babcbdbec0c1c3c4c6c7c9cacbcd"
    "ced0d1d3d4d6d7d8dadbdddee0e1e2e4e5e7e8eaebedeeeff1f2f4f5f7f8fafbfcfeff010204050608090b0c0e0f111213151618"
    "191b1c1e1f202223252628292a2c2d2f303233353637393a3c3d3f404143444647494a4c4d4e505153545657595a5b5d",
    "8080d68080dfff8080808080dd8080800814e080808080bd80808080e6f88080808080d50f8062f72280cd808080b88981808080"
    "8008808080378080a08058808080c18a438080809680806a9a80208080fb0e800c8041fb8080" },
  { "factors", 2, 3, 20, 6, 12, { SMALL, SMALL, SMALL }, 500u,
    { { 0x3f800000u, -1 }, { 0x3c90d0c3u, -4 }, { 0x3f800000u, 0 },
      { 0x3d3504f3u, 5 }, { 0x3dcccccdu, 9 } },
    0x3f800000u, 0,
    NULL,
    "fc00fff6fd07f2eff9f404f4fb0100f8fc06efeefcf605f3fc0001f6fd06f4f1f9f504f316fa07fefaf5f0f906f801e818fa07fd"
    "f9f6f1f905f703e717fa05fefaf4edf606f8fee7" },
  { "factors", 2, 3, 21, 7, 12, { SMALL, SMALL, SMALL }, 501u,
    { { 0x3f800000u, -1 }, { 0x3ccccccdu, -3 }, { 0x3f800000u, -1 },
      { 0x3cb504f3u, 5 }, { 0x3dcccccdu, 8 } },
    0x3f800000u, 0,
    NULL,
    "2d3343fb011a162e1e181f3d2e2a42fa0218182822161f3b32243ffa011b16221e141a39111439f9f8272825091e1911081745fb"
    "fc2423220d1c24180c163a02f228282808191c16" },
  { "factors", 2, 3, 22, 8, 12, { SMALL, SMALL, SMALL }, 502u,
    { { 0x3f800000u, -1 }, { 0x3d10d0c3u, -2 }, { 0x3f800000u, 0 },
      { 0x3c3504f3u, 5 }, { 0x3dcccccdu, 7 } },
    0x3f800000u, 0,
    NULL,
    "dcc9e8b829cea6b1bfe8cde0dec3e4a826d9adbdb9ebd6e1eccbecb13adaa6bdc3f1d7dbd2d6cac6d4cbd1c1c3ebf4e0c7e6c1b7"
    "cfc6d0b8bd0eeee1c5f3cdb8d8cad9c1d5f6f4e7" },
  { "factors", 2, 3, 23, 9, 12, { SMALL, SMALL, SMALL }, 503u,
    { { 0x3f800000u, -1 }, { 0x3d4ccccdu, -1 }, { 0x3f800000u, -1 },
      { 0x3bb504f3u, 5 }, { 0x3dcccccdu, 6 } },
    0x3f800000u, 0,
    NULL,
    "457f7fec7f3ff5077f3b7f49577f7fd87f2d15f27f7f7f01567f7ffc7f47f6267f607f5d47435f7f0c126bdc287fcb545f0c6a7f"
    "540f54be6570b4463b265f7f7f4075cf5961a447" },
  { "factors", 2, 3, 24, 10, 12, { SMALL, SMALL, SMALL }, 504u,
    { { 0x3f800000u, -1 }, { 0x3d90d0c3u, 0 }, { 0x3f800000u, 0 },
      { 0x3d3504f3u, 5 }, { 0x3dcccccdu, 5 } },
    0x3f800000u, 0,
    NULL,
    "f8030601feeefafcf5fce201f4fe03fefdf6faf8edfdea01fb0704f600f706f7f3eeeff6f4ec10f5faedf1fc05f0fef3f3f00ff6"
    "04edeff5f8f1f2f7fcf20df8fef2f4ff04f5ebf9" },
  { "factors", 2, 3, 25, 11, 12, { SMALL, SMALL, SMALL }, 505u,
    { { 0x3f800000u, -1 }, { 0x3dcccccdu, 1 }, { 0x3f800000u, -1 },
      { 0x3cb504f3u, 5 }, { 0x3dcccccdu, 4 } },
    0x3f800000u, 0,
    NULL,
    "15fd0503213820f81a221d33fdff1d3c1750041c262f0a3f3122fc2626290b173d3b142d1e0c102f0f06f10308041d2716ff1622"
    "230d250209e61c2f1f113d290b2e190a01031434" },
  { "factors", 2, 3, 26, 12, 12, { SMALL, SMALL, SMALL }, 506u,
    { { 0x3f800000u, -1 }, { 0x3e10d0c3u, 2 }, { 0x3f800000u, 0 },
      { 0x3c3504f3u, 5 }, { 0x3dcccccdu, 3 } },
    0x3f800000u, 0,
    NULL,
    "802f23f12c80aaa4548f3b82b9c4e18ec3802304c5dcf195c3b80987e1801223000be98010e2f0a68be1e8a5b49ed2d8f3e896f2"
    "ccf207d78e99f3b7dcdc0dd62fddff80beb7209c" },
  { "factors", 2, 3, 27, 13, 12, { SMALL, SMALL, SMALL }, 507u,
    { { 0x3f800000u, -1 }, { 0x3e4ccccdu, 3 }, { 0x3f800000u, -1 },
      { 0x3bb504f3u, 5 }, { 0x3dcccccdu, 2 } },
    0x3f800000u, 0,
    NULL,
    "80ca7ffccc807f7f545d547f803f7f7f7f807f7fb37f957f807f7f807f80807fc480808d507f612a672a702d317f7f6cd87fb27f"
    "36807f127f807f7fbac77f7ff07f7f7f7f54547f" },
  { "511 keys", 1, 1, 511, 1, 24, { EQUAL, CLIFF, UNIFORM }, 400u,
    { { 0x3f800000u, 39 }, { 0x3dcccccdu, 0 }, { 0x3f000000u, 3 },
      { 0x3e000000u, -9 }, { 0x3dcccccdu, 0 } },
    0x3f800000u, 0,
    NULL,
    "dec4d7d5c7e1e1d8c4e8fee9ecabd8e5efcfe2d8d3cedeeb" },
  { "512 - 1/9999", 1, 1, 514, 1, 24, { EQUAL, CLIFF, UNIFORM }, 401u,
    { { 0x3f800000u, 39 }, { 0x3dcccccdu, 0 }, { 0x3f000000u, 3 },
      { 0x3e000000u, -9 }, { 0x3dcccccdu, 0 } },
    0x3f800000u, 0,
    NULL,
    "e4dde9d6eeabc9e5dfce98e5efd3eddb0ef212c4d3ccbdd7" },
