import type { Promised } from "./promises.ts";
import { NEVER_SEEN } from "./seen-objects.ts";

export const storagePromises = {
  outputs_are_there: {
    sentence: "each output is in Storage, byte for byte",
    broken: `
      select format('prediction %s: %s is %s', p.id, p.output_path,
        case when o.id is null then 'no object' when f.name is null then 'an object without a file'
          else format('%s bytes, %s, not %s, %s', f.bytes, f.sha256, p.output_bytes, p.output_sha256) end) as broken
      from keyframe.predictions p
      left join storage.objects o on o.bucket_id = 'keyframe-outputs' and o.name = p.output_path
      left join chaos.files f on f.bucket = 'keyframe-outputs' and f.name = p.output_path
      where p.status = 'succeeded'
        and (o.id is null or f.name is null or f.sha256 <> p.output_sha256 or f.bytes <> p.output_bytes)`,
  },
  references_are_there: {
    sentence: "each reference image that a prediction uses is in Storage",
    broken: `
      select format('prediction %s: %s', p.id, p.reference_image_path) as broken
      from keyframe.predictions p
      left join storage.objects o on o.bucket_id = 'projects' and 'projects/' || o.name = p.reference_image_path
      left join chaos.files f on f.bucket = 'projects' and f.name = o.name
      where p.reference_image_path is not null and f.name is null`,
  },
  uploads_are_there: {
    sentence:
      "each image whose upload was answered and that no start has used is in Storage, unless its account was deleted",
    broken: `
      select format('upload %s', a.id) as broken from (select distinct id from chaos.answers where what = 'reference') a
      left join chaos.files f on f.bucket = 'projects' and 'projects/' || f.name = a.id
      left join storage.objects o on o.bucket_id = 'projects' and 'projects/' || o.name = a.id
      where (f.name is null or o.id is null)
        and not exists (select from chaos.starts s where s.prediction_id is not null and s.reference = a.id)
        and not exists (select from chaos.left_uploads l where l.path = a.id)`,
  },
  objects_have_a_row: {
    sentence:
      "no object in Storage without a row: what was deleted took its outputs and images along, down to the disk",
    broken: `
      select format('%s/%s', o.bucket_id, o.name) as broken
      from storage.objects o
      where not exists (select from keyframe_private.file_removals r where r.bucket = o.bucket_id and r.name = o.name)
        and case o.bucket_id
          when 'keyframe-outputs' then not exists (select from keyframe.predictions p where p.output_path = o.name)
          when 'projects' then not exists (select from keyframe.predictions p where p.reference_image_path = 'projects/' || o.name)
            and (
              -- Without a prediction stays only what an upload made and no start has used.
              not exists (select from keyframe_private.idempotency_keys k where k.resource_id::text = split_part(o.name, '.', 1))
              or exists (select from chaos.starts s where s.prediction_id is not null and s.reference = 'projects/' || o.name))
          else true end
      union all
      select format('%s/%s lies on the disk alone', f.bucket, f.name) from chaos.files f
      where not exists (select from storage.objects o where o.bucket_id = f.bucket and o.name = f.name)
        and not (${NEVER_SEEN})`,
  },
  addresses_last_as_told: {
    sentence: "no signed address was said to work for longer than it does",
    broken: `select format('said to work until %s, works until %s', told, ends) as broken from chaos.addresses where told > ends`,
  },
} satisfies Record<string, Promised>;
