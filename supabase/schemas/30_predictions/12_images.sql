-- The images that a prediction uses.

create table keyframe_private.prediction_images (
  prediction_id uuid not null references keyframe.predictions on delete cascade,
  role text not null,
  position integer not null default 1,
  path text,
  source_prediction_id uuid references keyframe.predictions on delete set null,
  primary key (prediction_id, role, position),
  constraint role_is_known check (role in ('first_frame', 'last_frame', 'reference')),
  constraint uploaded_image_is_in_projects check (keyframe_private.is_reference_path(path)),
  constraint uploaded_or_generated check (num_nonnulls(path, source_prediction_id) <= 1)
);
comment on table keyframe_private.prediction_images is 'The images that a prediction uses, written from its input.';
comment on column keyframe_private.prediction_images.path is 'projects/<file_name>: an uploaded image of the owner.';
comment on column keyframe_private.prediction_images.source_prediction_id is 'The prediction that made the image; null once that is deleted.';
create index prediction_images_path_idx on keyframe_private.prediction_images (path) where path is not null;
create index prediction_images_source_prediction_id_idx on keyframe_private.prediction_images (source_prediction_id)
  where source_prediction_id is not null;

-- The images that an input names. Unlike the rows of prediction_images, they are there before a start and after a deletion.
create function keyframe_private.images_of(input jsonb)
returns table (role text, "position" integer, path text, source_prediction_id uuid) language plpgsql immutable set search_path = '' as $$
begin
  return query
    select frame.role, 1, input ->> (frame.field || 'ImagePath'), (input ->> (frame.field || 'PredictionId'))::uuid
    from (values ('first_frame', 'firstFrame'), ('last_frame', 'lastFrame')) frame (role, field)
    where coalesce(input ->> (frame.field || 'ImagePath'), input ->> (frame.field || 'PredictionId')) is not null
    union all
    select 'reference', i.number::integer, i.path, null
    from jsonb_array_elements_text(input -> 'referenceImagePaths') with ordinality i (path, number);
end $$;

create function keyframe_private.has_images(input jsonb)
returns boolean language plpgsql immutable set search_path = '' as $$
begin
  return coalesce(input ->> 'firstFramePredictionId', input ->> 'firstFrameImagePath', input ->> 'lastFramePredictionId',
    input ->> 'lastFrameImagePath', input #>> '{referenceImagePaths,0}') is not null;
end $$;

-- Ordered as the model gets them. The name is null when the prediction that made the image is deleted.
create function keyframe_private.images_json(prediction uuid)
returns jsonb language plpgsql stable set search_path = '' as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object(
      'role', i.role,
      'bucket', case when i.path is null then 'keyframe-outputs' else 'projects' end,
      'name', coalesce(keyframe_private.file_name_of(i.path), source.output_path)
    ) order by i.role, i.position), '[]')
    from keyframe_private.prediction_images i
    left join keyframe.predictions source on source.id = i.source_prediction_id
    where i.prediction_id = prediction
  );
end $$;
