-- The models that serve a step, how each one takes our inputs, and the default of each step. An administrator edits rows in Studio; no
-- deploy is needed.

create type keyframe.generation_step as enum ('first-frame', 'last-frame', 'video');
comment on type keyframe.generation_step is 'What a prediction makes: a first frame, a last frame, or the video between them.';

create table keyframe.models (
  step keyframe.generation_step not null,
  model text not null constraint model_is_owner_slash_name check (model ~ '^[a-z0-9._-]+/[a-z0-9._-]+(:[A-Za-z0-9._-]+)?$'),
  label text not null constraint label_is_not_empty check (btrim(label) <> ''),
  vendor text not null constraint vendor_is_not_empty check (btrim(vendor) <> ''),
  enabled boolean not null default true,
  position integer not null default 1000,
  shutdown_at timestamptz,
  accepts_faces text not null default 'unknown' constraint accepts_faces_is_known check (accepts_faces in ('yes', 'no', 'unknown')),
  controls jsonb not null,
  fixed jsonb not null default '{}',
  notes text not null default '',
  primary key (step, model)
);
comment on table keyframe.models is 'The models that can serve a step. step_defaults names the one that a start uses when it names none.';
comment on column keyframe.models.model is 'owner/name at Replicate, or owner/name:version for a community model.';
comment on column keyframe.models.label is 'The name that people choose the model by.';
comment on column keyframe.models.vendor is 'Who makes the model.';
comment on column keyframe.models.enabled is 'False: the model is not offered, and a start that names it is refused.';
comment on column keyframe.models.position is 'The order in which the models of a step are offered, and in which one takes over from another.';
comment on column keyframe.models.shutdown_at is 'When the vendor ends the model, if that is announced. Later starts take another model.';
comment on column keyframe.models.accepts_faces is 'Whether the model takes images that show people''s faces: yes, no or unknown.';
comment on column keyframe.models.controls is 'Our name of each input -> how the model takes it, for example {"durationSeconds": {"field": "duration", "values": [5, 10], "default": 5}}. docs/models.md explains the keys.';
comment on column keyframe.models.fixed is 'Fields of the model that are always sent, for example {"output_format": "png"}.';

alter table keyframe.models enable row level security;
create policy models_select_everyone on keyframe.models for select to authenticated using (true);
grant select on keyframe.models to authenticated, service_role;

create table keyframe.step_defaults (
  step keyframe.generation_step primary key,
  model text not null,
  foreign key (step, model) references keyframe.models (step, model) on update cascade
);
comment on table keyframe.step_defaults is 'The model of each step that a start uses when it names none. To switch: update keyframe.step_defaults set model = ''google/veo-3.1'' where step = ''video''.';

alter table keyframe.step_defaults enable row level security;
create policy step_defaults_select_everyone on keyframe.step_defaults for select to authenticated using (true);
grant select on keyframe.step_defaults to authenticated, service_role;

-- Image models. For a last frame, the first frame is sent as the first of the reference images.
insert into keyframe.models (step, model, label, vendor, position, controls, fixed)
select step, model, label, vendor, position, controls::jsonb, fixed::jsonb
from unnest(array['first-frame', 'last-frame']::keyframe.generation_step[]) as step
cross join (values
  (10, 'google/nano-banana', 'Nano Banana', 'Google', '{
    "prompt": {"field": "prompt"},
    "referenceImages": {"field": "image_input", "list": true, "max": 10},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "5:4", "4:5", "21:9"]}
  }', '{"output_format": "png"}'),
  (20, 'google/nano-banana-pro', 'Nano Banana Pro', 'Google', '{
    "prompt": {"field": "prompt"},
    "referenceImages": {"field": "image_input", "list": true, "max": 14},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "5:4", "4:5", "21:9"]},
    "resolution": {"field": "resolution", "values": ["1K", "2K", "4K"], "default": "2K"}
  }', '{"output_format": "png", "allow_fallback_model": false}'),
  (30, 'bytedance/seedream-4', 'Seedream 4', 'ByteDance', '{
    "prompt": {"field": "prompt"},
    "referenceImages": {"field": "image_input", "list": true, "max": 10},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "21:9"]},
    "resolution": {"field": "size", "values": ["1K", "2K", "4K"], "default": "2K"}
  }', '{}'),
  (40, 'bytedance/seedream-4.5', 'Seedream 4.5', 'ByteDance', '{
    "prompt": {"field": "prompt"},
    "referenceImages": {"field": "image_input", "list": true, "max": 14},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "21:9"]},
    "resolution": {"field": "size", "values": ["2K", "4K"], "default": "2K"}
  }', '{}'),
  (50, 'black-forest-labs/flux-kontext-pro', 'FLUX.1 Kontext Pro', 'Black Forest Labs', '{
    "prompt": {"field": "prompt"},
    "referenceImages": {"field": "input_image", "max": 1},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "5:4", "4:5", "21:9", "9:21", "2:1", "1:2"]},
    "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', '{"output_format": "png"}'),
  (60, 'black-forest-labs/flux-2-pro', 'FLUX.2 Pro', 'Black Forest Labs', '{
    "prompt": {"field": "prompt"},
    "referenceImages": {"field": "input_images", "list": true, "max": 8},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "5:4", "4:5"]},
    "resolution": {"field": "resolution", "values": ["0.5 MP", "1 MP", "2 MP", "4 MP"], "default": "1 MP"},
    "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', '{"output_format": "png"}')
) as image_models (position, model, label, vendor, controls, fixed);

insert into keyframe.models (step, position, model, label, vendor, accepts_faces, controls, notes) values
  ('video', 10, 'kwaivgi/kling-v2.1', 'Kling 2.1', 'Kuaishou', 'unknown', '{
    "prompt": {"field": "prompt", "maxLength": 2500},
    "negativePrompt": {"field": "negative_prompt"},
    "firstFrame": {"field": "start_image", "required": true},
    "lastFrame": {"field": "end_image", "needs": ["firstFrame"], "forces": {"resolution": "1080p"}},
    "resolution": {"field": "mode", "values": {"720p": "standard", "1080p": "pro"}, "order": ["720p", "1080p"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [5, 10], "default": 5}
  }', 'A last frame is possible in 1080p alone.'),
  ('video', 20, 'kwaivgi/kling-v2.5-turbo-pro', 'Kling 2.5 Turbo Pro', 'Kuaishou', 'unknown', '{
    "prompt": {"field": "prompt", "maxLength": 2500},
    "negativePrompt": {"field": "negative_prompt"},
    "firstFrame": {"field": "start_image"},
    "lastFrame": {"field": "end_image", "needs": ["firstFrame"]},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1"], "omitWith": ["firstFrame"]},
    "durationSeconds": {"field": "duration", "values": [5, 10], "default": 5}
  }', ''),
  ('video', 30, 'kwaivgi/kling-v3-video', 'Kling 3.0', 'Kuaishou', 'unknown', '{
    "prompt": {"field": "prompt", "maxLength": 2500},
    "negativePrompt": {"field": "negative_prompt"},
    "firstFrame": {"field": "start_image"},
    "lastFrame": {"field": "end_image", "needs": ["firstFrame"]},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1"], "omitWith": ["firstFrame"]},
    "resolution": {"field": "mode", "values": {"720p": "standard", "1080p": "pro", "4k": "4k"}, "order": ["720p", "1080p", "4k"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], "default": 5},
    "audio": {"field": "generate_audio", "values": [false, true], "default": false}
  }', ''),
  ('video', 40, 'minimax/hailuo-02', 'Hailuo 02', 'MiniMax', 'unknown', '{
    "prompt": {"field": "prompt"},
    "firstFrame": {"field": "first_frame_image"},
    "lastFrame": {"field": "last_frame_image"},
    "resolution": {"field": "resolution", "values": ["768p", "1080p"], "default": "768p", "forcesByValue": {"1080p": {"durationSeconds": 6}}},
    "durationSeconds": {"field": "duration", "values": [6, 10], "default": 6}
  }', 'Ten seconds are possible in 768p alone.'),
  ('video', 50, 'minimax/hailuo-2.3', 'Hailuo 2.3', 'MiniMax', 'unknown', '{
    "prompt": {"field": "prompt"},
    "firstFrame": {"field": "first_frame_image"},
    "resolution": {"field": "resolution", "values": ["768p", "1080p"], "default": "768p", "forcesByValue": {"1080p": {"durationSeconds": 6}}},
    "durationSeconds": {"field": "duration", "values": [6, 10], "default": 6}
  }', 'Takes no last frame. Ten seconds are possible in 768p alone.'),
  ('video', 60, 'google/veo-3.1', 'Veo 3.1', 'Google', 'yes', '{
    "prompt": {"field": "prompt"},
    "negativePrompt": {"field": "negative_prompt"},
    "firstFrame": {"field": "image"},
    "lastFrame": {"field": "last_frame", "needs": ["firstFrame"]},
    "referenceImages": {"field": "reference_images", "list": true, "max": 3, "excludes": ["firstFrame", "lastFrame"], "forces": {"aspectRatio": "16:9", "durationSeconds": 8}},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16"]},
    "resolution": {"field": "resolution", "values": ["720p", "1080p"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [4, 6, 8], "default": 8},
    "audio": {"field": "generate_audio", "values": [false, true], "default": false},
    "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', ''),
  ('video', 70, 'google/veo-3.1-fast', 'Veo 3.1 Fast', 'Google', 'yes', '{
    "prompt": {"field": "prompt"},
    "negativePrompt": {"field": "negative_prompt"},
    "firstFrame": {"field": "image"},
    "lastFrame": {"field": "last_frame", "needs": ["firstFrame"]},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16"]},
    "resolution": {"field": "resolution", "values": ["720p", "1080p"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [4, 6, 8], "default": 8},
    "audio": {"field": "generate_audio", "values": [false, true], "default": false},
    "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', ''),
  ('video', 80, 'bytedance/seedance-2.0', 'Seedance 2.0', 'ByteDance', 'no', '{
    "prompt": {"field": "prompt"},
    "firstFrame": {"field": "image"},
    "lastFrame": {"field": "last_frame_image", "needs": ["firstFrame"]},
    "referenceImages": {"field": "reference_images", "list": true, "max": 9, "excludes": ["firstFrame", "lastFrame"]},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "21:9", "9:21"]},
    "resolution": {"field": "resolution", "values": ["480p", "720p", "1080p", "4k"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], "default": 5},
    "audio": {"field": "generate_audio", "values": [false, true], "default": false},
    "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', 'Takes either frames or reference images. Refuses photographic faces.'),
  ('video', 90, 'bytedance/seedance-2.0-fast', 'Seedance 2.0 Fast', 'ByteDance', 'no', '{
    "prompt": {"field": "prompt"},
    "firstFrame": {"field": "image"},
    "lastFrame": {"field": "last_frame_image", "needs": ["firstFrame"]},
    "referenceImages": {"field": "reference_images", "list": true, "max": 9, "excludes": ["firstFrame", "lastFrame"]},
    "aspectRatio": {"field": "aspect_ratio", "values": ["16:9", "9:16", "1:1", "4:3", "3:4", "21:9", "9:21"]},
    "resolution": {"field": "resolution", "values": ["480p", "720p"], "default": "720p"},
    "durationSeconds": {"field": "duration", "values": [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], "default": 5},
    "audio": {"field": "generate_audio", "values": [false, true], "default": false},
    "seed": {"field": "seed", "min": 0, "max": 2147483647}
  }', 'Takes either frames or reference images. Refuses photographic faces.');

insert into keyframe.step_defaults (step, model) values
  ('first-frame', 'google/nano-banana'), ('last-frame', 'google/nano-banana'), ('video', 'kwaivgi/kling-v2.1');
