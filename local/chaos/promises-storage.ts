import type { Promised } from "./promises.ts";

export const storagePromises = {
  outputs_are_there: {
    sentence: "each output is in Storage, byte for byte",
    broken: `
      select format('prediction %s: %s is %s', p.id, p.output_path,
        case when o.id is null then 'no object' when f.name is null then 'an object without a file'
          else format('%s bytes, %s, not %s, %s', f.bytes, f.sha256, p.output_bytes, p.output_sha256) end) as broken
      from public.predictions p
      left join storage.objects o on o.bucket_id = 'generations' and o.name = p.output_path
      left join chaos.files f on f.bucket = 'generations' and f.name = p.output_path
      where p.status = 'succeeded'
        and (o.id is null or f.name is null or f.sha256 <> p.output_sha256 or f.bytes <> p.output_bytes)`,
  },
  references_are_there: {
    sentence: "each reference image that a prediction uses is in Storage",
    broken: `
      select format('prediction %s: %s', p.id, p.reference_image_path) as broken
      from public.predictions p
      left join storage.objects o on o.bucket_id = 'projects' and 'projects/' || o.name = p.reference_image_path
      left join chaos.files f on f.bucket = 'projects' and f.name = o.name
      where p.reference_image_path is not null and f.name is null`,
  },
  objects_have_a_row: {
    sentence: "no object in Storage without a row",
    broken: `
      select format('%s/%s', o.bucket_id, o.name) as broken
      from storage.objects o
      where not exists (select from private.file_removals r where r.bucket = o.bucket_id and r.name = o.name)
        and case o.bucket_id
          when 'generations' then not exists (select from public.predictions p where p.output_path = o.name)
          else not exists (select from private.idempotency_keys k where k.resource_id::text = split_part(o.name, '.', 1)) end`,
  },
} satisfies Record<string, Promised>;
