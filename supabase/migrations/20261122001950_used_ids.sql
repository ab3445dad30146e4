-- Refuses the identifier of an earlier prediction that left an event, a submit to the provider, or a file to remove: they
-- would be taken for those of the new one. After the insert, which has waited for a deletion under way.
create function keyframe_private.refuse_used_id()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  if auth.uid() is not null then
    return null; -- users cannot choose an identifier
  end if;
  if exists (
    select from keyframe.webhook_events v
    where v.prediction_id = new.id and v.type in ('generation.succeeded', 'generation.failed')
  ) or exists (select from keyframe_private.provider_submits s where s.prediction_id = new.id and s.submitted_at is not null)
    or exists (
      select from keyframe_private.file_removals r where r.bucket = 'keyframe-outputs' and r.name = any (array(select keyframe_private.output_names(new)))
    ) then
    perform keyframe_private.raise_error('invalid_request', 'An earlier prediction with this identifier has left an event, a submit or a file. Leave the identifier out, or take another one.');
  end if;
  return null;
end
$$;
create trigger _150_refuse_used_id after insert on keyframe.predictions
  for each row execute function keyframe_private.refuse_used_id();
comment on trigger _150_refuse_used_id on keyframe.predictions is 'Refuses an id that left an event, a submit or a file.';
