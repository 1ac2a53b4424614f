const base = 'http://origin.test';

export const METHODS = ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

export function url(path) {
  return `${base}${path}`;
}

export const headers = (more = {}) => ({ Accept: 'application/json', ...more });
