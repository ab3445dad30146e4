-- Two private buckets: projects for uploads, keyframe-outputs for generated files.

insert into storage.buckets (id, name, public, file_size_limit, allowed_mime_types) values
  ('projects', 'projects', false, 10485760, array['image/png', 'image/jpeg', 'image/webp']),
  ('keyframe-outputs', 'keyframe-outputs', false, 209715200, array['image/png', 'image/jpeg', 'image/webp', 'video/mp4']);
