-- Two private buckets: projects for uploads, of types that models take; keyframe-outputs for generated files, of types that browsers show and play.
-- Neither takes SVG or HTML, which run scripts.

insert into storage.buckets (id, name, public, file_size_limit, allowed_mime_types) values
  ('projects', 'projects', false, 10485760, array['image/png', 'image/jpeg', 'image/webp']),
  ('keyframe-outputs', 'keyframe-outputs', false, 209715200, array[
    'image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/avif', 'image/bmp', 'image/x-icon',
    'video/mp4', 'video/webm', 'video/x-matroska', 'video/ogg', 'audio/mpeg', 'audio/wav', 'audio/flac', 'audio/aac']);
