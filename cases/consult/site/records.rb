require "active_record"

class Member < ActiveRecord::Base
  has_many :ideas
  has_many :votes

  def self.known_by(name, password)
    member = find_by(name: name)
    member if member && member.password == Digest::SHA256.hexdigest(member.salt + password)
  end

  # What others wrote below the member's ideas.
  def answers
    Comment.joins(:idea).where(ideas: { member_id: id }).where("comments.created_at > ?", last_seen)
  end
end

class Project < ActiveRecord::Base
  has_many :ideas

  def self.by_interest
    left_joins(ideas: :votes).group(:id).select("projects.*, count(votes.member_id) AS interest").order("interest DESC, id")
  end
end

class Idea < ActiveRecord::Base
  belongs_to :project
  belongs_to :member
  has_many :comments
  has_many :votes

  def self.by_votes
    left_joins(:votes).group(:id).select("ideas.*, count(votes.member_id) AS vote_count").order("vote_count DESC, id")
  end
end

class Comment < ActiveRecord::Base
  belongs_to :idea
  belongs_to :member

  def self.latest
    includes(:member, :idea).order(created_at: :desc, id: :desc).limit(10)
  end
end

class Vote < ActiveRecord::Base
  self.primary_key = nil
  belongs_to :idea
  belongs_to :member
end
