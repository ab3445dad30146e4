-- The elements of a start: their images are added to its references, their texts to its prompt, and its input keeps a record of each.

-- The record of an element in the input of a prediction.
create function keyframe_private.element_record(element keyframe.elements)
returns jsonb language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object(
    'elementId', element.id, 'updatedAt', keyframe_private.wire_time(element.updated_at), 'name', element.name, 'text', element.text,
    'imagePaths', element.image_paths);
end $$;

-- Whether a character continues the name before it: a letter, a digit, an underscore, or a mark such as an accent. An empty text does not.
--
-- Names and prompts are compared in NFC, so that a composed and a decomposed accent are equal. NFC also shows which characters are marks: it
-- sorts neighbouring marks by their class, and U+0345 has the highest one, so whatever NFC moves before U+0345 is a mark. The list has the
-- marks that have no class, except those that Postgres counts as letters and those that displays may ignore.
create function keyframe_private.continues_a_name(letter text)
returns boolean language plpgsql immutable set search_path = '' as $$
begin
  return letter ~ '[[:alnum:]_\u0488\u0489\u0897\u0AFA-\u0AFF\u0B55\u0E47-\u0E4E\u0EC8-\u0ECE\u0F3E\u0F3F\u17C6-\u17D3\u1ABE\u1CE1\u1CF7\u20DD-\u20E4\uA670-\uA672\uABEC]'
    or normalize(chr(837) || letter) <> chr(837) || letter;
end $$;

-- The elements that a prompt names, and the prompt without their @. Raises for an unknown name:
--
--   @anna and @Old pier, mail a@b.c  →  Anna and Old pier, mail a@b.c, and the ids of both elements
--
-- The elements are read once, however often the prompt names them.
create function keyframe_private.read_mentions(prompt text, known uuid[], owner uuid, out ids uuid[], out plain text)
language plpgsql stable set search_path = '' as $$
declare
  part text;
  elements jsonb; -- by their name in lower case; of two with one name, the first of `known`
  lengths integer[];
  named record;
begin
  ids := '{}';
  select jsonb_object_agg(lower(n.name), jsonb_build_object('id', e.id, 'name', e.name) order by k.place desc), array_agg(distinct char_length(n.name))
  into elements, lengths
  from unnest(known) with ordinality k (id, place)
  join keyframe.elements e on e.id = k.id and e.owner_id = read_mentions.owner
  cross join lateral (select normalize(e.name) as name) n;
  foreach part in array string_to_array(normalize(prompt), '@') loop
    if plain is null then
      plain := part;
      continue;
    elsif keyframe_private.continues_a_name(right(plain, 1)) or part !~ '^\S' then
      plain := plain || '@' || part;
      continue;
    end if;
    select elements -> lower(left(part, l.length)) as element, l.length into named
    from unnest(lengths) l (length)
    where elements ? lower(left(part, l.length)) and not keyframe_private.continues_a_name(substr(part, l.length + 1, 1))
    order by l.length desc limit 1;
    if not found then
      perform keyframe_private.raise_error('invalid_request', format(
        '“@%s” isn''t in the cast%s. Fix the name, or put a space after the @.', coalesce(substring(part from '^[^\s.,;:!?()]{1,60}'), ''),
        (select ' (' || string_agg(e.value ->> 'name', ', ' order by e.value ->> 'name') || ')' from jsonb_each(elements) e)));
    end if;
    ids := ids || (named.element ->> 'id')::uuid;
    plain := plain || (named.element ->> 'name') || substr(part, named.length + 1);
  end loop;
end $$;

-- Whether a request's element has the form of element_record.
create function keyframe_private.is_element_record(element jsonb)
returns boolean language plpgsql immutable set search_path = '' as $$
begin
  return case when element @? 'strict $ ? (
      @.elementId.type() == "string" && @.updatedAt like_regex "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3])(:[0-5][0-9]){2}[.][0-9]{3}Z$"
      && @.name like_regex "^.{1,60}$" && @.text.type() == "string" && @.imagePaths.type() == "array" && @.imagePaths.size() <= 8
      && !exists(@.imagePaths[*] ? (@.type() != "string")))'
    then keyframe_private.is_uuid(element ->> 'elementId') and keyframe_private.is_one_line(element ->> 'name') and not exists (
      select from jsonb_array_elements_text(element -> 'imagePaths') i (path) where not keyframe_private.is_reference_path(i.path))
    else false end;
end $$;

-- For a repeated input, whose prompt and references already have its elements. A record is kept while its text is in the prompt or, without
-- a text, while one of its images is in the references.
create function keyframe_private.keep_element_records(requested jsonb)
returns jsonb language plpgsql stable set search_path = '' as $$
declare
  kept jsonb;
begin
  if jsonb_typeof(requested -> 'elements') <> 'array'
    or jsonb_array_length(requested -> 'elements') > keyframe_private.max_elements('start')
    or exists (select from jsonb_array_elements(requested -> 'elements') e where not keyframe_private.is_element_record(e)) then
    perform keyframe_private.raise_error('invalid_request', 'elements must be a list as in `input` of a response.');
  end if;
  select jsonb_agg(jsonb_build_object('elementId', e -> 'elementId', 'updatedAt', e -> 'updatedAt', 'name', e -> 'name', 'text', e -> 'text',
    'imagePaths', e -> 'imagePaths') order by place) into kept
  from jsonb_array_elements(requested -> 'elements') with ordinality r (e, place)
  where case when e ->> 'text' = '' then exists (select from jsonb_array_elements(e -> 'imagePaths') i where requested -> 'referenceImagePaths' @> i)
    else strpos(requested ->> 'prompt', format('%s: %s', e ->> 'name', e ->> 'text')) > 0 end;
  return requested - array['elements', 'elementIds'] || jsonb_strip_nulls(jsonb_build_object('elements', kept));
end $$;

-- The elements of a start, and its prompt without the @ of their names; null if there are none and the prompt stays as it is:
--
--   elementIds of the start, else of the project   these, and those that the prompt names
--   neither, and the prompt names some             these
--   neither, and it names none                     those of the film
create function keyframe_private.choose_elements(requested jsonb, project keyframe.projects, out ids uuid[], out prompt text)
language plpgsql volatile set search_path = '' as $$
declare
  film_ids constant uuid[] := coalesce((select f.element_ids from keyframe.films f where f.id = project.film_id), '{}');
  listed uuid[] := project.element_ids;
  known uuid[];
  named record;
begin
  if requested ->> 'elementIds' is not null then
    perform keyframe_private.raise_if(jsonb_typeof(requested -> 'elementIds') <> 'array', 'invalid_request', 'elementIds must be a list.');
    listed := array(select i::uuid from jsonb_array_elements_text(requested -> 'elementIds') i);
    perform keyframe_private.require_elements(listed, project.owner_id);
    if listed = '{}' then
      return; -- an @ means nothing here
    end if;
  end if;
  known := coalesce(listed, '{}') || film_ids;
  if known = '{}' and coalesce(strpos(requested ->> 'prompt', '@'), 0) = 0 then
    return;
  end if;
  perform keyframe_private.raise_if(char_length(requested ->> 'prompt') > 4000, 'invalid_request', 'prompt must have at most 4000 characters.');
  named := keyframe_private.read_mentions(requested ->> 'prompt', known, project.owner_id);
  if known <> '{}' then -- otherwise none of its @ names an element
    ids := case when listed is not null then listed || named.ids when named.ids = '{}' then film_ids else named.ids end;
    prompt := named.plain;
  end if;
end $$;

-- Adds the elements of a start to the prompt and the references from read_input, with a record of each. A video that begins on a frame
-- shows them in the frame: it gets their images only if the start has elementIds.
create function keyframe_private.use_elements(requested jsonb, step keyframe.generation_step, project keyframe.projects)
returns jsonb language plpgsql volatile set search_path = '' as $$
declare
  needs_images constant boolean := step <> 'video' or requested ->> 'elementIds' is not null
    or coalesce(requested ->> 'firstFramePredictionId', requested ->> 'firstFrameImagePath', requested ->> 'continuesPreviousShot') is null;
  chosen record;
  used record;
  images text[] := '{}';
begin
  if requested ->> 'elements' is not null then
    perform keyframe_private.raise_if(requested ->> 'elementIds' is not null, 'invalid_request', 'Send elementIds or elements, not both.');
    return keyframe_private.keep_element_records(requested);
  end if;
  chosen := keyframe_private.choose_elements(requested, project);
  requested := requested - array['elements', 'elementIds'];
  if chosen.ids is null then
    return requested;
  end if;
  select count(*) as number, jsonb_agg(u.element order by u.place) as records,
    string_agg(format('%s: %s', u.element ->> 'name', u.element ->> 'text'), e'\n' order by u.place)
      filter (where u.element ->> 'text' <> '') as lines
  into used
  from (
    select keyframe_private.element_record(e) as element, w.place
    from (select i.id, min(i.place) as place from unnest(chosen.ids) with ordinality i (id, place) group by i.id) w
    join keyframe.elements e on e.id = w.id and e.owner_id = project.owner_id
  ) u;
  perform keyframe_private.raise_if(used.number > keyframe_private.max_elements('start'), 'invalid_request', format(
    'A start can use at most %s elements, and this one would use %s. Name this shot''s elements in elementIds, or as @name in its prompt.',
    keyframe_private.max_elements('start'), used.number));
  if needs_images then
    images := array(
      select i.path from jsonb_array_elements(used.records) with ordinality r (element, place)
      cross join lateral jsonb_array_elements_text(r.element -> 'imagePaths') with ordinality i (path, place)
      where not requested -> 'referenceImagePaths' ? i.path
      group by i.path order by min(r.place), min(i.place));
  end if;
  requested := requested || jsonb_strip_nulls(jsonb_build_object(
    'prompt', concat_ws(e'\n\n', chosen.prompt, used.lines), 'elements', used.records,
    'referenceImagePaths', (requested -> 'referenceImagePaths') || to_jsonb(images)));
  perform keyframe_private.raise_if(char_length(requested ->> 'prompt') > 4000, 'unsupported_input', format(
    'The prompt has %s characters with the texts of its %s elements, and the maximum is 4000. Use fewer elements, or shorten a text.',
    char_length(requested ->> 'prompt'), used.number));
  return requested;
end $$;

create function keyframe_private.element_names(input jsonb)
returns jsonb language plpgsql stable set search_path = '' as $$
begin
  return (select coalesce(jsonb_agg(jsonb_build_object('elementId', e -> 'elementId', 'name', e -> 'name') order by place), '[]')
    from jsonb_array_elements(input -> 'elements') with ordinality r (e, place));
end $$;

-- Lists the elements that are deleted or changed since the prediction was made, with the fields that differ. A film can have 1,500 takes of
-- 20 elements: each is looked up by its key (`offset 0`), and compared only if its version has moved.
create function keyframe_private.changed_elements(prediction keyframe.predictions)
returns json language plpgsql stable set search_path = '' as $$
begin
  return coalesce((
    select json_agg(json_build_object('elementId', r.used -> 'elementId', 'name', r.used -> 'name', 'changed', c.fields) order by r.place)
    from jsonb_array_elements(prediction.input -> 'elements') with ordinality r (used, place)
    left join lateral (
      select o.* from keyframe.elements o where o.id = (r.used ->> 'elementId')::uuid and o.owner_id = prediction.owner_id offset 0) e on true
    cross join lateral (select case
      when e.id is null then array['deleted']
      when keyframe_private.wire_time(e.updated_at) <> r.used ->> 'updatedAt' then array_remove(array[
        case when r.used -> 'imagePaths' <> to_jsonb(e.image_paths) then 'imagePaths' end,
        case when e.name <> r.used ->> 'name' then 'name' end,
        case when e.text <> r.used ->> 'text' then 'text' end], null)
      else '{}' end) c (fields)
    where c.fields <> '{}'), '[]');
end $$;
