-- The models, defaults and prices of a new database. They come after the triggers that check them.

-- Image models. A last frame gets its first frame as the first of its reference images. Sources and dates: docs/models.md.
insert into keyframe.models (step, position, model, label, vendor, shutdown_at, controls, fixed, notes)
select step, position, model, label, vendor, shutdown_at::timestamptz, controls::jsonb, fixed::jsonb, notes
from unnest(array['first-frame', 'last-frame']::keyframe.generation_step[]) as step
cross join (values
  (10, 'google/nano-banana-2', 'Nano Banana 2', 'Google', null, '{
    "prompt": {"field": "prompt"}, "referenceImages": {"field": "image_input", "list": true, "max": 14},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "5:4", "4:5", "21:9"]},
    "resolution": {"field": "resolution", "values": ["1K", "2K", "4K"], "default": "1K"}
  }', '{"output_format": "png", "google_search": false, "image_search": false}', ''),
  (20, 'black-forest-labs/flux-2-pro', 'FLUX.2 Pro', 'Black Forest Labs', null, '{
    "prompt": {"field": "prompt"}, "referenceImages": {"field": "input_images", "list": true, "max": 8},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "5:4", "4:5"]},
    "resolution": {"field": "resolution", "values": ["0.5 MP", "1 MP", "2 MP", "4 MP"], "default": "1 MP"},
    "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', '{"output_format": "png"}', 'The price grows with the reference images.'),
  (30, 'bytedance/seedream-4.5', 'Seedream 4.5', 'ByteDance', null, '{
    "prompt": {"field": "prompt"}, "referenceImages": {"field": "image_input", "list": true, "max": 14},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "21:9"]},
    "resolution": {"field": "size", "values": ["2K", "4K"], "default": "2K"}
  }', '{"sequential_image_generation": "disabled", "max_images": 1}', ''),
  (40, 'google/nano-banana-pro', 'Nano Banana Pro', 'Google', null, '{
    "prompt": {"field": "prompt"}, "referenceImages": {"field": "image_input", "list": true, "max": 14},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "5:4", "4:5", "21:9"]},
    "resolution": {"field": "resolution", "values": ["1K", "2K", "4K"], "default": "2K"}
  }', '{"output_format": "png", "allow_fallback_model": false}', ''),
  (50, 'bytedance/seedream-4', 'Seedream 4', 'ByteDance', null, '{
    "prompt": {"field": "prompt"}, "referenceImages": {"field": "image_input", "list": true, "max": 10},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "21:9"]},
    "resolution": {"field": "size", "values": ["1K", "2K", "4K"], "default": "2K"}
  }', '{"sequential_image_generation": "disabled", "max_images": 1}', ''),
  (60, 'black-forest-labs/flux-kontext-pro', 'FLUX.1 Kontext Pro', 'Black Forest Labs', null, '{
    "prompt": {"field": "prompt"}, "referenceImages": {"field": "input_image", "max": 1},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "5:4", "4:5", "21:9", "9:21", "2:1", "1:2"]},
    "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', '{"output_format": "png"}', ''),
  (70, 'google/nano-banana', 'Nano Banana', 'Google', '2027-03-15', '{
    "prompt": {"field": "prompt"}, "referenceImages": {"field": "image_input", "list": true, "max": 10},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "5:4", "4:5", "21:9"]}
  }', '{"output_format": "png"}', 'Google ended it on its own API on 2026-10-02.')
) as image_models (position, model, label, vendor, shutdown_at, controls, fixed, notes);

-- Video models. Without firstFrame.required they also make a video from text, in the ratios of aspectRatio.
insert into keyframe.models (step, position, model, label, vendor, accepts_faces, controls, fixed, notes) values
  ('video', 10, 'kwaivgi/kling-v3-omni-video', 'Kling 3.0 Omni', 'Kuaishou', 'yes', '{
    "prompt": {"field": "prompt", "maxLength": 2500}, "firstFrame": {"field": "start_image"},
    "lastFrame": {"field": "end_image", "needs": ["firstFrame"]}, "referenceImages": {"field": "reference_images", "list": true, "max": 7, "countsFrames": true},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1"], "omitWith": ["firstFrame"]},
    "resolution": {"field": "mode", "values": {"720p": "standard", "1080p": "pro", "4k": "4k"}, "order": ["720p", "1080p", "4k"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], "default": 5},
    "audio": {"field": "generate_audio", "values": [false, true], "default": false}
  }', '{}', 'Takes seven images, the frames included. <<<image_1>>> in the prompt stands for the first reference image.'),
  ('video', 20, 'google/veo-3.1-fast', 'Veo 3.1 Fast', 'Google', 'yes', '{
    "prompt": {"field": "prompt"}, "negativePrompt": {"field": "negative_prompt"}, "firstFrame": {"field": "image"},
    "lastFrame": {"field": "last_frame", "needs": ["firstFrame"]},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16"]},
    "resolution": {"field": "resolution", "values": ["720p", "1080p"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [4, 6, 8], "default": 8},
    "audio": {"field": "generate_audio", "values": [false, true], "default": false}, "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', '{}', ''),
  ('video', 30, 'pixverse/pixverse-v6', 'PixVerse V6', 'PixVerse', 'unknown', '{
    "prompt": {"field": "prompt"}, "negativePrompt": {"field": "negative_prompt"}, "firstFrame": {"field": "image"},
    "lastFrame": {"field": "last_frame_image", "needs": ["firstFrame"]},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1"]},
    "resolution": {"field": "quality", "values": ["360p", "540p", "720p", "1080p"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [5, 8, 10, 15], "default": 5},
    "audio": {"field": "generate_audio_switch", "values": [false, true], "default": false},
    "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', '{"generate_multi_clip_switch": false}', ''),
  ('video', 40, 'kwaivgi/kling-v3-video', 'Kling 3.0', 'Kuaishou', 'unknown', '{
    "prompt": {"field": "prompt", "maxLength": 2500}, "negativePrompt": {"field": "negative_prompt", "maxLength": 2500},
    "firstFrame": {"field": "start_image"}, "lastFrame": {"field": "end_image", "needs": ["firstFrame"]},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1"], "omitWith": ["firstFrame"]},
    "resolution": {"field": "mode", "values": {"720p": "standard", "1080p": "pro", "4k": "4k"}, "order": ["720p", "1080p", "4k"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], "default": 5},
    "audio": {"field": "generate_audio", "values": [false, true], "default": false}
  }', '{}', ''),
  ('video', 50, 'kwaivgi/kling-v2.6', 'Kling 2.6', 'Kuaishou', 'unknown', '{
    "prompt": {"field": "prompt", "maxLength": 2500}, "negativePrompt": {"field": "negative_prompt", "maxLength": 2500},
    "firstFrame": {"field": "start_image"},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1"], "omitWith": ["firstFrame"]},
    "durationSeconds": {"field": "duration", "values": [5, 10], "default": 5},
    "audio": {"field": "generate_audio", "values": [false, true], "default": false}
  }', '{}', 'No last frame.'),
  ('video', 60, 'kwaivgi/kling-v2.5-turbo-pro', 'Kling 2.5 Turbo Pro', 'Kuaishou', 'unknown', '{
    "prompt": {"field": "prompt", "maxLength": 2500}, "negativePrompt": {"field": "negative_prompt", "maxLength": 2500},
    "firstFrame": {"field": "start_image"}, "lastFrame": {"field": "end_image", "needs": ["firstFrame"]},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1"], "omitWith": ["firstFrame"]},
    "durationSeconds": {"field": "duration", "values": [5, 10], "default": 5}
  }', '{}', ''),
  ('video', 70, 'kwaivgi/kling-v2.1', 'Kling 2.1', 'Kuaishou', 'unknown', '{
    "prompt": {"field": "prompt", "maxLength": 2500}, "negativePrompt": {"field": "negative_prompt", "maxLength": 2500},
    "firstFrame": {"field": "start_image", "required": true},
    "lastFrame": {"field": "end_image", "needs": ["firstFrame"], "forces": {"resolution": "1080p"}},
    "resolution": {"field": "mode", "values": {"720p": "standard", "1080p": "pro"}, "order": ["720p", "1080p"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [5, 10], "default": 5}
  }', '{}', 'A last frame is only possible in 1080p.'),
  ('video', 80, 'minimax/hailuo-02', 'Hailuo 02', 'MiniMax', 'unknown', '{
    "prompt": {"field": "prompt", "maxLength": 2000}, "firstFrame": {"field": "first_frame_image"},
    "lastFrame": {"field": "last_frame_image"},
    "resolution": {"field": "resolution", "values": ["768p", "1080p"], "default": "768p", "forcesByValue": {"1080p": {"durationSeconds": 6}}},
    "durationSeconds": {"field": "duration", "values": [6, 10], "default": 6}
  }', '{}', 'Ten seconds are only possible in 768p.'),
  ('video', 90, 'minimax/hailuo-2.3', 'Hailuo 2.3', 'MiniMax', 'unknown', '{
    "prompt": {"field": "prompt", "maxLength": 2000}, "firstFrame": {"field": "first_frame_image"},
    "resolution": {"field": "resolution", "values": ["768p", "1080p"], "default": "768p", "forcesByValue": {"1080p": {"durationSeconds": 6}}},
    "durationSeconds": {"field": "duration", "values": [6, 10], "default": 6}
  }', '{}', 'No last frame. Ten seconds are only possible in 768p.'),
  ('video', 100, 'google/veo-3.1', 'Veo 3.1', 'Google', 'yes', '{
    "prompt": {"field": "prompt"}, "negativePrompt": {"field": "negative_prompt"}, "firstFrame": {"field": "image"},
    "lastFrame": {"field": "last_frame", "needs": ["firstFrame"]},
    "referenceImages": {"field": "reference_images", "list": true, "max": 3, "excludes": ["firstFrame", "lastFrame"],
      "forces": {"aspectRatio": "16:9", "durationSeconds": 8}},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16"]},
    "resolution": {"field": "resolution", "values": ["720p", "1080p"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [4, 6, 8], "default": 8},
    "audio": {"field": "generate_audio", "values": [false, true], "default": false}, "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', '{}', 'Twice the price of Veo 3.1 Fast. Reference images only without frames, in 16:9 and eight seconds.'),
  ('video', 110, 'prunaai/p-video', 'P-Video', 'Pruna AI', 'unknown', '{
    "prompt": {"field": "prompt"}, "firstFrame": {"field": "image"}, "lastFrame": {"field": "last_frame_image", "needs": ["firstFrame"]},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "4:3", "3:4", "3:2", "2:3", "1:1"]},
    "resolution": {"field": "resolution", "values": ["720p", "1080p"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [3, 4, 5, 6, 7, 8, 9, 10, 15, 20], "default": 5},
    "audio": {"field": "save_audio", "values": [false, true], "default": false}, "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', '{"draft": false, "fps": 24}', 'The lowest price: for drafts.'),
  ('video', 120, 'bytedance/seedance-2.5', 'Seedance 2.5', 'ByteDance', 'no', '{
    "prompt": {"field": "prompt"}, "firstFrame": {"field": "image"}, "lastFrame": {"field": "last_frame_image", "needs": ["firstFrame"]},
    "referenceImages": {"field": "reference_images", "list": true, "max": 9, "excludes": ["firstFrame", "lastFrame"]},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "21:9"], "omitWith": ["firstFrame"]},
    "resolution": {"field": "resolution", "values": ["480p", "720p"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 25, 30], "default": 5},
    "audio": {"field": "generate_audio", "values": [false, true], "default": false}, "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', '{"aspect_ratio": "adaptive", "output_format": "mp4"}',
    'Refuses photographic faces, also generated ones. Reference images, [Image1] in the prompt, only without frames.'),
  ('video', 130, 'bytedance/seedance-2.0', 'Seedance 2.0', 'ByteDance', 'no', '{
    "prompt": {"field": "prompt"}, "firstFrame": {"field": "image"}, "lastFrame": {"field": "last_frame_image", "needs": ["firstFrame"]},
    "referenceImages": {"field": "reference_images", "list": true, "max": 9, "excludes": ["firstFrame", "lastFrame"]},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "21:9", "9:21"]},
    "resolution": {"field": "resolution", "values": ["480p", "720p", "1080p", "4k"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], "default": 5},
    "audio": {"field": "generate_audio", "values": [false, true], "default": false}, "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', '{}',
    'Refuses photographic faces, also generated ones. Reference images, [Image1] in the prompt, only without frames.'),
  ('video', 140, 'bytedance/seedance-2.0-fast', 'Seedance 2.0 Fast', 'ByteDance', 'no', '{
    "prompt": {"field": "prompt"}, "firstFrame": {"field": "image"}, "lastFrame": {"field": "last_frame_image", "needs": ["firstFrame"]},
    "referenceImages": {"field": "reference_images", "list": true, "max": 9, "excludes": ["firstFrame", "lastFrame"]},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "21:9", "9:21"]},
    "resolution": {"field": "resolution", "values": ["480p", "720p"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], "default": 5},
    "audio": {"field": "generate_audio", "values": [false, true], "default": false}, "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', '{}',
    'Refuses photographic faces, also generated ones. Reference images, [Image1] in the prompt, only without frames.');

insert into keyframe.step_defaults (step, model) values
  ('first-frame', 'google/nano-banana-2'), ('last-frame', 'google/nano-banana-2'), ('video', 'kwaivgi/kling-v3-omni-video');

-- Per second of video and per image, as public copies of Replicate's model pages of these days show them. docs/models.md has the same.
insert into keyframe_private.model_prices (model, applies_to, metric, price_usd, checked_at, valid_from, source)
select model, applies_to::jsonb, metric, price_usd, checked_at::date, checked_at::timestamptz, 'https://replicate.com/' || model
from (values
  ('google/nano-banana-2', '{"resolution": "1K"}', 'image', 0.067, '2026-09-16'),
  ('google/nano-banana-2', '{"resolution": "2K"}', 'image', 0.101, '2026-09-16'),
  ('google/nano-banana-2', '{"resolution": "4K"}', 'image', 0.151, '2026-09-16'),
  ('black-forest-labs/flux-2-pro', '{}', 'run', 0.015, '2026-09-16'),
  ('black-forest-labs/flux-2-pro', '{}', 'input_megapixel', 0.015, '2026-09-16'),
  ('black-forest-labs/flux-2-pro', '{}', 'output_megapixel', 0.015, '2026-09-16'),
  ('bytedance/seedream-4.5', '{}', 'image', 0.04, '2026-09-16'),
  ('google/nano-banana-pro', '{"resolution": "1K"}', 'image', 0.15, '2026-09-16'),
  ('google/nano-banana-pro', '{"resolution": "2K"}', 'image', 0.15, '2026-09-16'),
  ('google/nano-banana-pro', '{"resolution": "4K"}', 'image', 0.30, '2026-09-16'),
  ('bytedance/seedream-4', '{}', 'image', 0.03, '2026-09-16'),
  ('black-forest-labs/flux-kontext-pro', '{}', 'image', 0.04, '2026-09-16'),
  ('google/nano-banana', '{}', 'image', 0.039, '2026-09-16'),
  ('kwaivgi/kling-v3-omni-video', '{"resolution": "720p", "audio": false}', 'output_second', 0.168, '2026-10-05'),
  ('kwaivgi/kling-v3-omni-video', '{"resolution": "720p", "audio": true}', 'output_second', 0.224, '2026-10-05'),
  ('kwaivgi/kling-v3-omni-video', '{"resolution": "1080p", "audio": false}', 'output_second', 0.224, '2026-10-05'),
  ('kwaivgi/kling-v3-omni-video', '{"resolution": "1080p", "audio": true}', 'output_second', 0.28, '2026-10-05'),
  ('kwaivgi/kling-v3-omni-video', '{"resolution": "4k"}', 'output_second', 0.42, '2026-10-05'),
  ('google/veo-3.1-fast', '{"audio": false}', 'output_second', 0.10, '2026-10-05'),
  ('google/veo-3.1-fast', '{"audio": true}', 'output_second', 0.15, '2026-10-05'),
  ('pixverse/pixverse-v6', '{"resolution": "360p", "audio": false}', 'output_second', 0.05, '2026-10-05'),
  ('pixverse/pixverse-v6', '{"resolution": "360p", "audio": true}', 'output_second', 0.07, '2026-10-05'),
  ('pixverse/pixverse-v6', '{"resolution": "540p", "audio": false}', 'output_second', 0.07, '2026-10-05'),
  ('pixverse/pixverse-v6', '{"resolution": "540p", "audio": true}', 'output_second', 0.09, '2026-10-05'),
  ('pixverse/pixverse-v6', '{"resolution": "720p", "audio": false}', 'output_second', 0.09, '2026-10-05'),
  ('pixverse/pixverse-v6', '{"resolution": "720p", "audio": true}', 'output_second', 0.12, '2026-10-05'),
  ('pixverse/pixverse-v6', '{"resolution": "1080p", "audio": false}', 'output_second', 0.18, '2026-10-05'),
  ('pixverse/pixverse-v6', '{"resolution": "1080p", "audio": true}', 'output_second', 0.23, '2026-10-05'),
  ('kwaivgi/kling-v3-video', '{"resolution": "720p", "audio": false}', 'output_second', 0.168, '2026-10-05'),
  ('kwaivgi/kling-v3-video', '{"resolution": "720p", "audio": true}', 'output_second', 0.252, '2026-10-05'),
  ('kwaivgi/kling-v3-video', '{"resolution": "1080p", "audio": false}', 'output_second', 0.224, '2026-10-05'),
  ('kwaivgi/kling-v3-video', '{"resolution": "1080p", "audio": true}', 'output_second', 0.336, '2026-10-05'),
  ('kwaivgi/kling-v3-video', '{"resolution": "4k"}', 'output_second', 0.42, '2026-10-05'),
  ('kwaivgi/kling-v2.6', '{"audio": false}', 'output_second', 0.07, '2026-10-05'),
  ('kwaivgi/kling-v2.6', '{"audio": true}', 'output_second', 0.14, '2026-10-05'),
  ('kwaivgi/kling-v2.5-turbo-pro', '{}', 'output_second', 0.07, '2026-10-01'),
  ('kwaivgi/kling-v2.1', '{"resolution": "720p"}', 'output_second', 0.05, '2026-10-05'),
  ('kwaivgi/kling-v2.1', '{"resolution": "1080p"}', 'output_second', 0.09, '2026-10-05'),
  ('minimax/hailuo-02', '{"resolution": "768p"}', 'output_second', 0.045, '2026-04-28'),
  ('minimax/hailuo-02', '{"resolution": "1080p"}', 'output_second', 0.08, '2026-04-28'),
  ('minimax/hailuo-2.3', '{"resolution": "768p", "durationSeconds": 6}', 'run', 0.28, '2026-04-28'),
  ('minimax/hailuo-2.3', '{"resolution": "1080p", "durationSeconds": 6}', 'run', 0.49, '2026-04-28'),
  ('google/veo-3.1', '{"audio": false}', 'output_second', 0.20, '2026-10-05'),
  ('google/veo-3.1', '{"audio": true}', 'output_second', 0.40, '2026-10-05'),
  ('prunaai/p-video', '{"resolution": "720p"}', 'output_second', 0.02, '2026-10-05'),
  ('prunaai/p-video', '{"resolution": "1080p"}', 'output_second', 0.04, '2026-10-05'),
  ('bytedance/seedance-2.5', '{"resolution": "480p"}', 'output_second', 0.1028, '2026-10-05'),
  ('bytedance/seedance-2.5', '{"resolution": "720p"}', 'output_second', 0.2312, '2026-10-05'),
  ('bytedance/seedance-2.0', '{"resolution": "480p"}', 'output_second', 0.08, '2026-10-05'),
  ('bytedance/seedance-2.0', '{"resolution": "720p"}', 'output_second', 0.18, '2026-10-05'),
  ('bytedance/seedance-2.0', '{"resolution": "1080p"}', 'output_second', 0.45, '2026-10-05'),
  ('bytedance/seedance-2.0', '{"resolution": "4k"}', 'output_second', 1.00, '2026-10-05'),
  ('bytedance/seedance-2.0-fast', '{"resolution": "480p"}', 'output_second', 0.07, '2026-10-05'),
  ('bytedance/seedance-2.0-fast', '{"resolution": "720p"}', 'output_second', 0.15, '2026-10-05')
) as prices (model, applies_to, metric, price_usd, checked_at);
