/** A value as a literal of SQL. */
export const quote = (value: string): string => `'${value.replaceAll("'", "''")}'`;

/**
 * Puts `keyframe_functions_url` and `keyframe_kick_secret` into the Vault where they are missing or (the address) other, keeps a kick secret
 * that is there, and answers the one in use as a row `{ keyframe_kick_secret }`. Changes nothing when all is well.
 *
 * @param kickSecret the one to begin with
 */
export function vaultSql(functionsUrl: string, kickSecret: string): string {
  const name = "keyframe_functions_url";
  return `
select vault.update_secret(v.id, ${quote(functionsUrl)}) from vault.decrypted_secrets v
where v.name = '${name}' and v.decrypted_secret is distinct from ${quote(functionsUrl)};
select vault.create_secret(${quote(functionsUrl)}, '${name}', 'Where Keyframe kicks its functions')
where not exists (select from vault.secrets s where s.name = '${name}');
select vault.create_secret(${quote(kickSecret)}, 'keyframe_kick_secret', 'Signs the kicks; KEYFRAME_KICK_SECRET of the functions is the same')
where not exists (select from vault.secrets s where s.name = 'keyframe_kick_secret');
select v.decrypted_secret as keyframe_kick_secret from vault.decrypted_secrets v where v.name = 'keyframe_kick_secret';`;
}
